"""What Mainstem adds to Kafka's messages: fields with tags, and APIs with keys, that Kafka does not use."""
