package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// administer takes a topic and a group through their lives and answers with what it saw on the way.
func administer(ctx context.Context, bootstrap string, given arguments) (any, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	saw := map[string]any{}
	for _, step := range []func(context.Context, *kadm.Client, arguments, map[string]any) error{
		createTopic, changeTopic, moveOffsets, lookAround, deleteTopic,
	} {
		if err := step(ctx, admin, given, saw); err != nil {
			return saw, err
		}
	}
	return saw, nil
}

func createTopic(ctx context.Context, admin *kadm.Client, given arguments, saw map[string]any) error {
	retention := "60000"
	created, err := admin.CreateTopic(ctx, 2, 1, map[string]*string{"retention.ms": &retention}, given.Topic)
	if err != nil {
		return err
	}
	saw["partitions_created"] = created.NumPartitions
	_, err = admin.CreateTopic(ctx, 2, 1, nil, given.Topic)
	saw["exists_already"] = errors.Is(err, kerr.TopicAlreadyExists)
	if _, err := admin.CreatePartitions(ctx, 1, given.Topic); err != nil {
		return err
	}
	details, err := admin.ListTopics(ctx, given.Topic)
	if err != nil {
		return err
	}
	saw["partitions_now"] = len(details[given.Topic].Partitions)
	saw["same_id"] = details[given.Topic].ID == created.ID
	return nil
}

func changeTopic(ctx context.Context, admin *kadm.Client, given arguments, saw map[string]any) error {
	segment := "70000"
	changes := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "segment.ms", Value: &segment}}
	altered, err := admin.AlterTopicConfigs(ctx, changes, given.Topic)
	if err != nil {
		return err
	}
	if _, err := altered.On(given.Topic, nil); err != nil {
		return err
	}
	described, err := admin.DescribeTopicConfigs(ctx, given.Topic)
	if err != nil {
		return err
	}
	resource, err := described.On(given.Topic, nil)
	if err != nil {
		return err
	}
	set := map[string]string{}
	for _, each := range resource.Configs {
		if each.Source.String() == "DYNAMIC_TOPIC_CONFIG" {
			set[each.Key] = each.MaybeValue()
		}
	}
	saw["configs"] = set
	return nil
}

func moveOffsets(ctx context.Context, admin *kadm.Client, given arguments, saw map[string]any) error {
	var offsets kadm.Offsets
	offsets.AddOffset(given.Topic, 0, 5, -1)
	offsets.AddOffset(given.Topic, 1, 6, -1)
	if err := admin.CommitAllOffsets(ctx, given.Group, offsets); err != nil {
		return err
	}
	var gone kadm.TopicsSet
	gone.Add(given.Topic, 1)
	if _, err := admin.DeleteOffsets(ctx, given.Group, gone); err != nil {
		return err
	}
	committed, err := admin.FetchOffsets(ctx, given.Group)
	if err != nil {
		return err
	}
	at := map[int32]int64{}
	committed.Each(func(each kadm.OffsetResponse) { at[each.Partition] = each.At })
	saw["offsets"] = at
	described, err := admin.DescribeGroups(ctx, given.Group)
	if err != nil {
		return err
	}
	saw["group_state"] = described[given.Group].State
	_, err = admin.DeleteGroup(ctx, given.Group)
	if err != nil {
		return err
	}
	_, err = admin.DeleteGroup(ctx, given.Group)
	saw["group_gone"] = errors.Is(err, kerr.GroupIDNotFound)
	return nil
}

func lookAround(ctx context.Context, admin *kadm.Client, given arguments, saw map[string]any) error {
	brokers, err := admin.BrokerMetadata(ctx)
	if err != nil {
		return err
	}
	saw["brokers"] = len(brokers.Brokers)
	directories, err := admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return err
	}
	saw["log_directory_has_topic"] = false
	directories.Each(func(directory kadm.DescribedLogDir) {
		if _, has := directory.Topics[given.Topic]; has {
			saw["log_directory_has_topic"] = true
		}
	})
	versions, err := admin.ApiVersions(ctx)
	if err != nil {
		return err
	}
	versions.Each(func(each kadm.BrokerApiVersions) {
		saw["looks_like"] = each.VersionGuess()
	})
	return nil
}

func deleteTopic(ctx context.Context, admin *kadm.Client, given arguments, saw map[string]any) error {
	if _, err := admin.DeleteTopic(ctx, given.Topic); err != nil {
		return err
	}
	_, err := admin.DeleteTopic(ctx, given.Topic)
	saw["topic_gone"] = errors.Is(err, kerr.UnknownTopicOrPartition)
	return nil
}
