package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func codecOf(name string) kgo.CompressionCodec {
	return map[string]kgo.CompressionCodec{
		"none":   kgo.NoCompression(),
		"gzip":   kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(),
		"lz4":    kgo.Lz4Compression(),
		"zstd":   kgo.ZstdCompression(),
	}[name]
}

// write writes records in order and answers with their offsets. franz-go is idempotent unless told otherwise.
func write(ctx context.Context, bootstrap string, given arguments) (any, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(bootstrap),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codecOf(given.Codec)),
	}
	if given.Idempotent != nil && !*given.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	records := make([]*kgo.Record, len(given.Records))
	for i, each := range given.Records {
		records[i] = asRecord(given.Topic, each)
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, err
	}
	offsets := make([]int64, len(records))
	for i, each := range records {
		offsets[i] = each.Offset
	}
	return offsets, nil
}

// read answers with everything that topics hold now.
func read(ctx context.Context, bootstrap string, given arguments) (any, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumeTopics(given.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100*time.Millisecond),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	starts, err := admin.ListStartOffsets(ctx, given.Topics...)
	if err != nil {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, given.Topics...)
	if err != nil {
		return nil, err
	}
	missing := 0
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		missing += int(end.Offset - start.Offset)
	})
	found := map[string][]record{}
	for missing > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("%d records missing: %w", missing, err)
		}
		fetches.EachRecord(func(each *kgo.Record) {
			found[each.Topic] = append(found[each.Topic], asJSON(each))
			missing--
		})
	}
	for _, records := range found {
		sort.Slice(records, func(i, j int) bool {
			a, b := records[i], records[j]
			return a.Partition < b.Partition || a.Partition == b.Partition && a.Offset < b.Offset
		})
	}
	return found, nil
}

// readPattern reads topics by a regular expression until it has a number of records; answers with the topics.
func readPattern(ctx context.Context, bootstrap string, given arguments) (any, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumeRegex(),
		kgo.ConsumeTopics(given.Pattern),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100*time.Millisecond),
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	counts := map[string]int{}
	for seen := 0; seen < given.Count; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("%d of %d records: %w", seen, given.Count, err)
		}
		fetches.EachRecord(func(each *kgo.Record) {
			counts[each.Topic]++
			seen++
		})
	}
	return counts, nil
}

// offsets looks up where partition 0 starts, ends, and where given times are.
func offsets(ctx context.Context, bootstrap string, given arguments) (any, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	found := map[string]int64{}
	take := func(name string, listed kadm.ListedOffsets, err error) error {
		if err == nil {
			err = listed.Error()
		}
		if err == nil {
			at, _ := listed.Lookup(given.Topic, 0)
			found[name] = at.Offset
		}
		return err
	}
	starts, err := admin.ListStartOffsets(ctx, given.Topic)
	if err := take("start", starts, err); err != nil {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, given.Topic)
	if err := take("end", ends, err); err != nil {
		return nil, err
	}
	committed, err := admin.ListCommittedOffsets(ctx, given.Topic)
	if err := take("committed", committed, err); err != nil {
		return nil, err
	}
	newest, err := admin.ListMaxTimestampOffsets(ctx, given.Topic)
	if err := take("newest", newest, err); err != nil {
		return nil, err
	}
	for _, at := range given.TimesMs {
		listed, err := admin.ListOffsetsAfterMilli(ctx, at, given.Topic)
		if err := take(fmt.Sprint(at), listed, err); err != nil {
			return nil, err
		}
	}
	return found, nil
}
