package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// member is a consumer of a group that knows which partitions it holds.
type member struct {
	client *kgo.Client
	mutex  sync.Mutex
	held   map[int32]bool
	seen   map[string]bool
	lost   int
}

func newMember(bootstrap string, given arguments) (*member, error) {
	made := &member{held: map[int32]bool{}, seen: map[string]bool{}}
	balancer := map[string]kgo.GroupBalancer{
		"range":              kgo.RangeBalancer(),
		"roundrobin":         kgo.RoundRobinBalancer(),
		"sticky":             kgo.StickyBalancer(),
		"cooperative-sticky": kgo.CooperativeStickyBalancer(),
	}[given.Balancer]
	drop := func(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
		made.mutex.Lock()
		defer made.mutex.Unlock()
		for _, partition := range gone[given.Topic] {
			delete(made.held, partition)
		}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumerGroup(given.Group),
		kgo.ConsumeTopics(given.Topic),
		kgo.Balancers(balancer),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.SessionTimeout(6*time.Second),
		kgo.FetchMaxWait(100*time.Millisecond),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, added map[string][]int32) {
			made.mutex.Lock()
			defer made.mutex.Unlock()
			for _, partition := range added[given.Topic] {
				made.held[partition] = true
			}
		}),
		kgo.OnPartitionsRevoked(drop),
		kgo.OnPartitionsLost(func(ctx context.Context, client *kgo.Client, gone map[string][]int32) {
			drop(ctx, client, gone)
			made.lost++
		}),
	)
	made.client = client
	return made, err
}

// run polls and commits until the client is closed.
func (m *member) run(ctx context.Context) {
	for {
		fetches := m.client.PollFetches(ctx)
		if fetches.IsClientClosed() || ctx.Err() != nil {
			return
		}
		m.mutex.Lock()
		fetches.EachRecord(func(each *kgo.Record) {
			m.seen[fmt.Sprintf("%d:%d", each.Partition, each.Offset)] = true
		})
		m.mutex.Unlock()
		m.client.CommitUncommittedOffsets(ctx)
	}
}

func (m *member) holds() []int32 {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	partitions := []int32{}
	for partition := range m.held {
		partitions = append(partitions, partition)
	}
	return partitions
}

func waitUntil(ctx context.Context, what string, isSo func() bool) error {
	for !isSo() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("still not: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// shareInGroup lets one member read alone, a second join and leave again, and answers with who held what
// and what the group had committed at the end.
func shareInGroup(ctx context.Context, bootstrap string, given arguments) (any, error) {
	first, err := newMember(bootstrap, given)
	if err != nil {
		return nil, err
	}
	go first.run(ctx)
	defer first.client.Close()
	if err := waitUntil(ctx, "the first holds all", func() bool { return len(first.holds()) == 4 }); err != nil {
		return nil, err
	}
	second, err := newMember(bootstrap, given)
	if err != nil {
		return nil, err
	}
	go second.run(ctx)
	shared := func() bool { return len(first.holds()) == 2 && len(second.holds()) == 2 }
	err = waitUntil(ctx, "two share", shared)
	result := map[string]any{"first": first.holds(), "second": second.holds()}
	if err == nil {
		err = waitUntil(ctx, "everything is read", func() bool { return countSeen(first, second) >= given.Count })
	}
	second.client.Close()
	if err != nil {
		return nil, err
	}
	if err := waitUntil(ctx, "the first holds all again", func() bool { return len(first.holds()) == 4 }); err != nil {
		return nil, err
	}
	first.client.CommitUncommittedOffsets(ctx)
	committed, err := kadm.NewClient(first.client).FetchOffsets(ctx, given.Group)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	committed.Each(func(at kadm.OffsetResponse) { total += at.At })
	result["committed"] = total
	result["lost"] = first.lost + second.lost
	return result, nil
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
