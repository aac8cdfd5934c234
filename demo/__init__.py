"""What `make demo` shows: a million orders, a consumer that dies, a broker that dies, and nothing lost."""
