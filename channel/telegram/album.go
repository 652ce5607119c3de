package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
)

// ask asks for updates. If some belong together with others that are on their way, it asks once more
// after a moment, from the same place: the parts of an album may come in two answers.
func (c *Channel) ask(ctx context.Context, gathers time.Duration) (batch []json.RawMessage, err error) {
	p := params{"offset": c.offset, "limit": maxBatch, "timeout": int(pollTime.Seconds()), "allowed_updates": allowed}
	for range maxAsked {
		before := len(batch)
		batch = nil
		err = c.api.callFor(ctx, pollTime+platform.CallTime, "getUpdates", p, &batch)
		if err != nil || len(batch) == before || len(batch) == maxBatch {
			break
		}
		wait := gathers
		if last := c.lastAlbum(batch); last < len(batch) {
			wait = max(wait, albumWait)
		}
		if wait == 0 || platform.Sleep(ctx, wait) != nil {
			break
		}
	}
	if last := c.lastAlbum(batch); len(batch) == maxBatch && last > 0 {
		batch = batch[:last] // it comes whole the next time
	}
	return batch, err
}

// whole returns the album of which a part was edited, with the part as it is now; the part alone if there
// is none.
func whole(albums *recent.Cache[string, []update], now *message) []update {
	parts, _ := albums.Get(albumOf(now))
	parts = slices.Clone(parts)
	i := slices.IndexFunc(parts, func(p update) bool { return p.Message.ID == now.ID })
	if i < 0 {
		return []update{{Message: now}}
	}
	parts[i].Message = now
	return parts
}

func albumOf(m *message) string { return id(m.Chat.ID) + " " + m.Album }

// lastAlbum returns where the album begins with which a batch ends; its length if there is none.
func (c *Channel) lastAlbum(batch []json.RawMessage) int {
	from, name := len(batch), ""
	for i, raw := range slices.Backward(batch) {
		var u update
		if json.Unmarshal(raw, &u) != nil || u.album() == "" || name != "" && u.album() != name {
			break
		}
		from, name = i, u.album()
	}
	return from
}

const (
	// maxBatch is how many updates come at once, and maxAsked how often they are asked for until no
	// more come.
	maxBatch, maxAsked = 100, 4
	// albumWait is how long the next part of an album is awaited. By requests, Telegram sends one when
	// the one before was answered.
	albumWait = 700 * time.Millisecond
	// maxAlbum is how many parts an album has, and maxAlbums how many are awaited at once.
	maxAlbum, maxAlbums = 10, 500
	// albumPause is how long an album that was not taken waits for the next try.
	albumPause = 5 * time.Second
)

// album are the parts of one that came so far, each by a request of its own.
type album struct {
	parts  []update
	newest time.Time
}

// albumKind is the kind of the records of parts that were acknowledged and not handed over.
const albumKind = "telegram-album"

// prefix begins the keys of the records of an album.
func (c *Channel) prefix(u update) string { return fmt.Sprintf("%d %d %s ", c.id, u.chat(), u.album()) }

// part takes a part of an album. Telegram sends the next part only when this one was acknowledged, so
// it is stored until all are handed over as one message.
func (c *Channel) part(ctx context.Context, r *run, u update, raw []byte) error {
	if len(c.open([]update{u})) == 0 {
		return nil
	}
	key := c.prefix(u)
	c.mu.Lock()
	full := c.albums[key] == nil && len(c.albums) >= maxAlbums
	c.mu.Unlock()
	if full {
		return errors.New("too many albums arrive at once")
	}
	if err := c.records.Put(ctx, albumKind, key+id(u.ID), raw); err != nil {
		return err
	}
	return c.collect(r, key, u)
}

// collect adds a part to its album. With the first one the album takes its place in the order of the chat.
func (c *Channel) collect(r *run, key string, u update) error {
	c.mu.Lock()
	a := c.albums[key]
	first := a == nil || len(a.parts) >= maxAlbum
	if first {
		a = &album{}
		c.albums[key] = a
	}
	a.newest = time.Now()
	if !slices.ContainsFunc(a.parts, func(p update) bool { return p.ID == u.ID }) {
		a.parts = append(a.parts, u)
	}
	c.mu.Unlock()
	if !first {
		return nil
	}
	return r.Start(r.life, platform.Job{
		Chat: id(u.chat()), Done: func(error) {},
		Take: func(ctx context.Context) error { return c.takeAlbum(ctx, r, key, a) },
	})
}

// takeAlbum hands an album over when no more parts come. It tries again until that is done: Telegram
// does not send it again.
func (c *Channel) takeAlbum(ctx context.Context, r *run, key string, a *album) error {
	parts := c.gathered(ctx, key, a)
	for {
		err := c.handle(ctx, r, parts)
		if err == nil {
			break
		}
		c.log.WarnContext(ctx, "an album was not taken; it is tried again", "error", err)
		if platform.Sleep(ctx, albumPause) != nil {
			return err // the next run finds it in the records
		}
	}
	for _, u := range parts {
		if _, err := c.records.Remove(ctx, albumKind, key+id(u.ID)); err != nil {
			c.log.WarnContext(ctx, "an album stays in the records, and may be answered again", "error", err)
		}
	}
	return nil
}

// gathered waits until no more parts come, and returns them in their order.
func (c *Channel) gathered(ctx context.Context, key string, a *album) []update {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(a.parts) < maxAlbum && ctx.Err() == nil {
		rest := albumWait - time.Since(a.newest)
		if rest <= 0 {
			break
		}
		c.mu.Unlock()
		_ = platform.Sleep(ctx, rest)
		c.mu.Lock()
	}
	if c.albums[key] == a {
		delete(c.albums, key)
	}
	slices.SortFunc(a.parts, func(a, b update) int { return cmp.Compare(a.ID, b.ID) })
	return slices.Clone(a.parts)
}

// resumeAlbums takes the albums that the last run has acknowledged and not handed over.
func (c *Channel) resumeAlbums(ctx context.Context, r *run) error {
	list, err := c.records.Records(ctx, albumKind)
	if err != nil {
		return err
	}
	for _, record := range list {
		var u update
		if !strings.HasPrefix(record.Key, fmt.Sprintf("%d ", c.id)) || json.Unmarshal(record.Value, &u) != nil {
			continue // of another bot
		}
		if err := c.collect(r, c.prefix(u), u); err != nil {
			return err
		}
	}
	return nil
}
