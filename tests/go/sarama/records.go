package main

import (
	"fmt"
	"sort"
	"time"

	"github.com/IBM/sarama"
)

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

// write writes records in order and answers with their offsets.
func write(bootstrap string, given arguments) (any, error) {
	config := settings()
	config.Producer.Compression = codecs[given.Codec]
	if given.Idempotent {
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
	}
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	messages := make([]*sarama.ProducerMessage, len(given.Records))
	for i, each := range given.Records {
		messages[i] = asMessage(given.Topic, each)
	}
	if err := producer.SendMessages(messages); err != nil {
		return nil, err
	}
	offsets := make([]int64, len(messages))
	for i, each := range messages {
		offsets[i] = each.Offset
	}
	return offsets, nil
}

// read answers with everything that topics hold now.
func read(bootstrap string, given arguments) (any, error) {
	client, err := sarama.NewClient([]string{bootstrap}, settings())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	found := map[string][]record{}
	for _, topic := range given.Topics {
		partitions, err := consumer.Partitions(topic)
		if err != nil {
			return nil, err
		}
		sort.Slice(partitions, func(i, j int) bool { return partitions[i] < partitions[j] })
		for _, partition := range partitions {
			records, err := readPartition(client, consumer, topic, partition)
			if err != nil {
				return nil, err
			}
			found[topic] = append(found[topic], records...)
		}
	}
	return found, nil
}

func readPartition(
	client sarama.Client, consumer sarama.Consumer, topic string, partition int32,
) ([]record, error) {
	start, err := client.GetOffset(topic, partition, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	end, err := client.GetOffset(topic, partition, sarama.OffsetNewest)
	if err != nil || start == end {
		return nil, err
	}
	stream, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	records := []record{}
	for {
		select {
		case message := <-stream.Messages():
			records = append(records, asJSON(message))
			if message.Offset == end-1 {
				return records, nil
			}
		case err := <-stream.Errors():
			return nil, err
		case <-time.After(patience):
			return nil, fmt.Errorf("%s-%d: %d of %d records", topic, partition, len(records), end-start)
		}
	}
}

// offsets looks up where partition 0 starts, ends, and where given times are.
func offsets(bootstrap string, given arguments) (any, error) {
	client, err := sarama.NewClient([]string{bootstrap}, settings())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	asked := map[string]int64{"start": sarama.OffsetOldest, "end": sarama.OffsetNewest}
	for _, at := range given.TimesMs {
		asked[fmt.Sprint(at)] = at
	}
	found := map[string]int64{}
	for name, at := range asked {
		if found[name], err = client.GetOffset(given.Topic, 0, at); err != nil {
			return nil, err
		}
	}
	return found, nil
}
