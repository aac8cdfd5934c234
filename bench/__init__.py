"""How fast, how small: us and Apache Kafka side by side.

What makes two figures comparable here:

- *One run.* Both brokers live on the same machine, at the same time, on the same disk. They take turns
  (ABAB); the one whose turn it is not is stopped (SIGSTOP), so that its idle work costs the other nothing
  and a JVM stays warm.
- *A warm-up* round on each side is measured and thrown away: a cold JVM is twice as slow, and so is memory
  that the machine touches for the first time.
- *Medians and the spread* of the rounds. A single run on a small machine means little.
- *CPU of each process*, from /proc. Where the client takes the cores, throughput says little about a
  broker, and CPU per message and per MB says who is better. Every throughput names the side that was the
  limit.
- *Nothing unproven is counted*: what a producer claims to have sent is compared with the end offsets.

A scenario (bench/scenarios) says what is measured and what is to be reached. A client (bench/clients)
makes the load, in a process of its own, from requests that were built before the clock started.
"""
