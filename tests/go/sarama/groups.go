package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

var balancers = map[string]sarama.BalanceStrategy{
	"range":      sarama.NewBalanceStrategyRange(),
	"roundrobin": sarama.NewBalanceStrategyRoundRobin(),
	"sticky":     sarama.NewBalanceStrategySticky(),
}

// member is a consumer of a group that knows which partitions it holds and what it has seen.
type member struct {
	group sarama.ConsumerGroup
	stop  context.CancelFunc
	done  chan error
	mutex sync.Mutex
	held  []int32
	seen  map[string]bool
}

func newMember(bootstrap string, given arguments) (*member, error) {
	config := settings()
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{balancers[given.Balancer]}
	config.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
	config.Consumer.Group.Session.Timeout = 6 * time.Second
	config.Consumer.Offsets.AutoCommit.Interval = 100 * time.Millisecond
	group, err := sarama.NewConsumerGroup([]string{bootstrap}, given.Group, config)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	made := &member{group: group, stop: stop, done: make(chan error, 1), seen: map[string]bool{}}
	go func() {
		for ctx.Err() == nil {
			if err := group.Consume(ctx, []string{given.Topic}, made); err != nil {
				made.done <- err
				return
			}
		}
		made.done <- nil
	}()
	return made, nil
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.held = []int32{}
	for _, partitions := range session.Claims() {
		m.held = append(m.held, partitions...)
	}
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.held = nil
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		m.mutex.Lock()
		m.seen[fmt.Sprintf("%d:%d", message.Partition, message.Offset)] = true
		m.mutex.Unlock()
		session.MarkMessage(message, "")
	}
	return nil
}

func (m *member) holds() []int32 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return append([]int32{}, m.held...)
}

func (m *member) leave() error {
	m.stop()
	err := <-m.done
	if closing := m.group.Close(); err == nil {
		err = closing
	}
	return err
}

func waitUntil(what string, isSo func() bool) error {
	deadline := time.Now().Add(patience)
	for !isSo() {
		if time.Now().After(deadline) {
			return fmt.Errorf("still not: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// shareInGroup lets one member read alone, a second join and leave again, and answers with who held what
// and what the group had committed at the end.
func shareInGroup(bootstrap string, given arguments) (any, error) {
	first, err := newMember(bootstrap, given)
	if err != nil {
		return nil, err
	}
	if err := waitUntil("the first holds all", func() bool { return len(first.holds()) == 4 }); err != nil {
		return nil, err
	}
	second, err := newMember(bootstrap, given)
	if err != nil {
		return nil, err
	}
	shared := func() bool { return len(first.holds()) == 2 && len(second.holds()) == 2 }
	if err := waitUntil("two share", shared); err != nil {
		return nil, err
	}
	result := map[string]any{"first": first.holds(), "second": second.holds()}
	everything := func() bool { return countSeen(first, second) >= given.Count }
	if err := waitUntil("everything is read", everything); err != nil {
		return nil, err
	}
	if err := second.leave(); err != nil {
		return nil, err
	}
	if err := waitUntil("the first holds all again", func() bool { return len(first.holds()) == 4 }); err != nil {
		return nil, err
	}
	if err := first.leave(); err != nil {
		return nil, err
	}
	result["committed"], err = committedBy(bootstrap, given)
	return result, err
}

func committedBy(bootstrap string, given arguments) (int64, error) {
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, settings())
	if err != nil {
		return 0, err
	}
	defer admin.Close()
	answer, err := admin.ListConsumerGroupOffsets(given.Group, map[string][]int32{given.Topic: {0, 1, 2, 3}})
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, block := range answer.Blocks[given.Topic] {
		total += block.Offset
	}
	return total, nil
}

func countSeen(members ...*member) int {
	all := map[string]bool{}
	for _, each := range members {
		each.mutex.Lock()
		for key := range each.seen {
			all[key] = true
		}
		each.mutex.Unlock()
	}
	return len(all)
}
