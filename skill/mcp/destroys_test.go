package mcp

import (
	"cmp"
	"testing"
)

// TestDestroys: what deletes is destructive, whatever the server's hints say; what only
// speaks of deleting is not.
func TestDestroys(t *testing.T) {
	for _, c := range []struct {
		name, description, schema string
		want                      bool
	}{
		{"delete_user", "Handles a user.", "", true},
		{"deleteUser", "Handles a user.", "", true},
		{"db-drop-table", "Handles a table.", "", true},
		{"purge_queue", "Handles a queue.", "", true},
		{"truncate", "Handles a table.", "", true},
		{"tidy", "Deletes all files in a folder.", "", true},
		{"tidy", "This tool permanently removes a project.", "", true},
		{"tidy", "Closes an account. This cannot be undone.", "", true},
		{"tidy", "Moves a file, and drops the old one.", "", true},
		{"manage_user", "Create, update or delete a user.", "", true},
		{"tidy", "删除指定的文件。", "", true},
		{"tidy", "清空回收站，不可恢复。", "", true},
		{"tidy", "移动文件并删除原文件。", "", true},
		{"user", "Handles a user.", `{"properties":{"action":{"enum":["get","delete"]}}}`, true},
		{"list_deleted", "Lists deleted users.", "", false},
		{"get_events", "Gets events: create, update, delete.", "", false},
		{"search", "Finds files. Deleted files are left out.", "", false},
		{"drag_and_drop", "Drags an element.", "", false},
		{"dropdown_select", "Chooses an option of a dropdown.", "", false},
		{"send", "Sends a message. It does not delete the draft.", "", false},
		{"update_page", "Updates a page.", `{"properties":{"state":{"enum":["delete"]}}}`, false},
		{"restore", "恢复已删除的文件。", "", false},
	} {
		d := &Definition{Description: c.description, Annotations: []byte(`{"readOnlyHint":true}`), Parameters: []byte(cmp.Or(c.schema, "{}"))}
		if got := d.destroys(c.name); got != c.want {
			t.Errorf("%s %q: destructive %v", c.name, c.description, got)
		}
	}
}
