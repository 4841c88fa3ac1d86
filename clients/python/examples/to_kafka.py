"""Feeds each score of the log into a topic of Kafka exactly once.

The position in the log is a message, too: of the topic `scoreline.position`, which has one
partition and should be compacted. Make both topics first. The scores of a page and their position
are one transaction: readers with `isolation.level=read_committed` see both or none, however this
program ends.

    pip install scoreline confluent-kafka
    SCORELINE_URL=… SCORELINE_TOKEN=… python to_kafka.py localhost:9092

The token is of a service account with the role auditor. A second copy that is started takes the
work over: Kafka refuses the transactions of the first one, which then ends.
"""

import json
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from scoreline import Client

SCORES, POSITION = "scoreline.scores", "scoreline.position"
POLL_SECONDS = 5


def kept_position(brokers: str) -> str:
    """Read the last position that was committed."""
    reader = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "scoreline",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    reader.assign([TopicPartition(POSITION, 0, OFFSET_BEGINNING)])
    position = "0"
    while True:
        message = reader.poll(60)
        if message is None:
            raise TimeoutError("the brokers do not answer")
        if message.error() is None:
            position = message.value().decode()
        elif message.error().name() == "_PARTITION_EOF":
            reader.close()
            return position
        else:
            raise RuntimeError(message.error())


def main(brokers: str) -> None:
    """Follow the log for ever."""
    producer = Producer({"bootstrap.servers": brokers, "transactional.id": "scoreline"})
    # Ends what an earlier copy began: only then is the position the last one.
    producer.init_transactions(60)
    position = kept_position(brokers)
    with Client() as client:
        while True:
            for page in client.decisions(position, limit=10_000):
                producer.begin_transaction()
                for line in page.lines:
                    # Messages of a request stay in their order.
                    producer.produce(SCORES, line, key=json.loads(line)["request_id"])
                    producer.poll(0)
                producer.produce(POSITION, page.position, key="position", partition=0)
                producer.commit_transaction(60)
                position = page.position
                if page.expired:
                    print(f"{page.expired} scores had left the log", file=sys.stderr)
            time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1])
