"""Source, sink and pipelines on PySpark; reaches the broker over the wire only.

`pip install mainstem[spark]` is all it takes: Spark finds `pyspark_mainstem` by its name and knows
`format("mainstem")` from then on.
"""
