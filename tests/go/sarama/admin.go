package main

import (
	"errors"

	"github.com/IBM/sarama"
)

// administer takes a topic and a group through their lives and answers with what it saw on the way.
func administer(bootstrap string, given arguments) (any, error) {
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, settings())
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	saw := map[string]any{}
	for _, step := range []func(sarama.ClusterAdmin, arguments, map[string]any) error{
		createTopic, changeTopic, deleteRecords, lookAtGroups, lookAround, deleteTopic,
	} {
		if err := step(admin, given, saw); err != nil {
			return saw, err
		}
	}
	return saw, nil
}

func createTopic(admin sarama.ClusterAdmin, given arguments, saw map[string]any) error {
	retention := "60000"
	detail := &sarama.TopicDetail{
		NumPartitions: 2, ReplicationFactor: 1, ConfigEntries: map[string]*string{"retention.ms": &retention},
	}
	if err := admin.CreateTopic(given.Topic, detail, false); err != nil {
		return err
	}
	saw["exists_already"] = errors.Is(admin.CreateTopic(given.Topic, detail, false), sarama.ErrTopicAlreadyExists)
	if err := admin.CreatePartitions(given.Topic, 3, nil, false); err != nil {
		return err
	}
	described, err := admin.DescribeTopics([]string{given.Topic})
	if err != nil {
		return err
	}
	saw["partitions"] = len(described[0].Partitions)
	return nil
}

func changeTopic(admin sarama.ClusterAdmin, given arguments, saw map[string]any) error {
	segment := "70000"
	changes := map[string]sarama.IncrementalAlterConfigsEntry{
		"segment.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &segment},
	}
	if err := admin.IncrementalAlterConfig(sarama.TopicResource, given.Topic, changes, false); err != nil {
		return err
	}
	entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: given.Topic})
	if err != nil {
		return err
	}
	set := map[string]string{}
	for _, entry := range entries {
		if entry.Source == sarama.SourceTopic {
			set[entry.Name] = entry.Value
		}
	}
	saw["configs"] = set
	return nil
}

func deleteRecords(admin sarama.ClusterAdmin, given arguments, saw map[string]any) error {
	err := admin.DeleteRecords(given.Topic, map[int32]int64{0: 1})
	saw["nothing_to_delete"] = err != nil
	return nil
}

func lookAtGroups(admin sarama.ClusterAdmin, given arguments, saw map[string]any) error {
	groups, err := admin.ListConsumerGroups()
	if err != nil {
		return err
	}
	_, listed := groups[given.Group]
	saw["group_listed"] = listed
	described, err := admin.DescribeConsumerGroups([]string{given.Group})
	if err != nil {
		return err
	}
	saw["group_state"] = described[0].State
	if err := admin.DeleteConsumerGroup(given.Group); err != nil {
		return err
	}
	saw["group_gone"] = errors.Is(admin.DeleteConsumerGroup(given.Group), sarama.ErrGroupIDNotFound)
	return nil
}

func lookAround(admin sarama.ClusterAdmin, given arguments, saw map[string]any) error {
	brokers, controller, err := admin.DescribeCluster()
	if err != nil {
		return err
	}
	saw["brokers"] = len(brokers)
	saw["has_controller"] = brokers[0].ID() == controller
	directories, err := admin.DescribeLogDirs([]int32{controller})
	if err != nil {
		return err
	}
	saw["log_directories"] = len(directories[controller])
	return nil
}

func deleteTopic(admin sarama.ClusterAdmin, given arguments, saw map[string]any) error {
	if err := admin.DeleteTopic(given.Topic); err != nil {
		return err
	}
	saw["topic_gone"] = errors.Is(admin.DeleteTopic(given.Topic), sarama.ErrUnknownTopicOrPartition)
	return nil
}
