"""Through TLS and with a log-in, under the option names of Kafka's Java clients."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.spark.conftest import KEEPS_RECORDS
from tests.support.broker_process import BrokerProcess
from tests.support.certificates import Authority
from tests.support.confluent import create_topic, produce_all, read_topic

PASSWORD = "correct-horse-battery"


def test_a_job_logs_in_through_tls(spark: SparkSession, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    options = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
        "ssl.keystore.location": str(authority.write("server", "localhost")),
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    }
    with BrokerProcess(tmp_path / "data", options) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        upsertion = UserScramCredentialUpsertion("alice", credential, PASSWORD.encode())
        admin.alter_user_scram_credentials([upsertion])["alice"].result(30)
        topic = create_topic(admin, "orders", 2, KEEPS_RECORDS)
        produce_all(broker.bootstrap, topic, [b"%d" % number for number in range(100)])
        login = "org.apache.kafka.common.security.scram.ScramLoginModule required"
        secure = {
            "kafka.bootstrap.servers": broker.listeners["SASL_SSL"],
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "SCRAM-SHA-512",
            "kafka.sasl.jaas.config": f'{login} username="alice" password="{PASSWORD}";',
            "kafka.ssl.truststore.location": str(authority.file),
            "kafka.ssl.truststore.type": "PEM",
        }
        found = spark.read.format("mainstem").options(**secure, subscribe=topic).load()
        assert sorted(int(row.value) for row in found.select("value").collect()) == list(range(100))
        found.select("value").write.format("mainstem").mode("append").options(**secure, topic=topic).save()
        assert len(read_topic(broker.bootstrap, topic)) == 200
        wrong = {**secure, "kafka.sasl.jaas.config": f'{login} username="alice" password="guessed-wrong";'}
        with pytest.raises(PySparkException) as caught:
            spark.read.format("mainstem").options(**wrong, subscribe=topic).load().count()
        assert "the log-in failed" in str(caught.value)
        assert "guessed-wrong" not in str(caught.value)
