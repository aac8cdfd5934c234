// Scenarios for sarama: see tests/support/client_program.py.
//
//	sarama SCENARIO BOOTSTRAP < arguments.json > result.json
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"
)

const patience = 30 * time.Second

// header and record travel as JSON, bytes as hexadecimal text and null as null.
type header struct {
	Name  string  `json:"name"`
	Value *string `json:"value"`
}

type record struct {
	Key         *string  `json:"key"`
	Value       *string  `json:"value"`
	Headers     []header `json:"headers"`
	TimestampMs int64    `json:"timestamp_ms"`
	Partition   int32    `json:"partition"`
	Offset      int64    `json:"offset"`
}

// arguments are those of all scenarios; each takes what it needs.
type arguments struct {
	Topic      string   `json:"topic"`
	Topics     []string `json:"topics"`
	Codec      string   `json:"codec"`
	Records    []record `json:"records"`
	Idempotent bool     `json:"idempotent"`
	Group      string   `json:"group"`
	Count      int      `json:"count"`
	TimesMs    []int64  `json:"times_ms"`
	Balancer   string   `json:"balancer"`
}

var scenarios = map[string]func(string, arguments) (any, error){
	"write":   write,
	"read":    read,
	"offsets": offsets,
	"group":   shareInGroup,
	"admin":   administer,
}

func main() {
	result, err := play()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}

func play() (any, error) {
	if len(os.Args) != 3 {
		return nil, fmt.Errorf("usage: sarama SCENARIO BOOTSTRAP")
	}
	scenario, known := scenarios[os.Args[1]]
	if !known {
		return nil, fmt.Errorf("no scenario %q", os.Args[1])
	}
	var given arguments
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		return nil, err
	}
	return scenario(os.Args[2], given)
}

// settings are sarama's defaults at the newest protocol level that it knows.
func settings() *sarama.Config {
	made := sarama.NewConfig()
	made.Version = sarama.MaxVersion
	made.Consumer.MaxWaitTime = 100 * time.Millisecond
	made.Consumer.Return.Errors = true
	made.Consumer.Offsets.Initial = sarama.OffsetOldest
	made.Producer.Return.Successes = true
	made.Producer.RequiredAcks = sarama.WaitForAll
	made.Producer.Partitioner = sarama.NewManualPartitioner
	return made
}

func toHex(data []byte) *string {
	if data == nil {
		return nil
	}
	text := hex.EncodeToString(data)
	return &text
}

func fromHex(text *string) []byte {
	if text == nil {
		return nil
	}
	data, err := hex.DecodeString(*text)
	if err != nil {
		panic(err)
	}
	if data == nil {
		data = []byte{}
	}
	return data
}

func asJSON(from *sarama.ConsumerMessage) record {
	headers := []header{}
	for _, each := range from.Headers {
		headers = append(headers, header{string(each.Key), toHex(each.Value)})
	}
	return record{
		toHex(from.Key), toHex(from.Value), headers, from.Timestamp.UnixMilli(), from.Partition, from.Offset,
	}
}

func asMessage(topic string, from record) *sarama.ProducerMessage {
	made := &sarama.ProducerMessage{Topic: topic, Partition: from.Partition}
	if from.Key != nil {
		made.Key = sarama.ByteEncoder(fromHex(from.Key))
	}
	if from.Value != nil {
		made.Value = sarama.ByteEncoder(fromHex(from.Value))
	}
	for _, each := range from.Headers {
		made.Headers = append(made.Headers, sarama.RecordHeader{Key: []byte(each.Name), Value: fromHex(each.Value)})
	}
	if from.TimestampMs >= 0 {
		made.Timestamp = time.UnixMilli(from.TimestampMs)
	}
	return made
}
