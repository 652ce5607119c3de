package sqlite

import "fmt"

// LimitPages makes the disk full after a number of pages.
func LimitPages(s *Store, pages int) error {
	_, err := s.write.Exec(fmt.Sprintf("PRAGMA max_page_count=%d", pages))
	return err
}

// Exec changes a file behind the store's back.
func Exec(path, statements string) error {
	db, err := connect(path, 1, "immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(statements)
	return err
}
