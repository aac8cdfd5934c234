"""What every room shares: identifiers, record batches and their codec, the error families."""
