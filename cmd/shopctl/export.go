package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/csvfile"
)

// filter has the flags that pick the items of a list.
type filter[T any] interface {
	add(command *cobra.Command)
	// open checks the flags and opens the list of a shop as of a time.
	open(ctx context.Context, shop string, at time.Time) (iter.Seq2[T, error], error)
}

// newExportCommand makes the command that writes a list as CSV. The noun is the name of one item, such as voucher. The
// function rows begins a CSV file, and returns its writer and a function that writes one item.
func newExportCommand[T any](
	s *session, noun string, picked filter[T], rows func(file io.Writer, at time.Time) (csvfile.Writer, func(T) error),
) *cobra.Command {
	var path string
	command := &cobra.Command{
		Use: "export SHOP", Short: "Write " + noun + "s to a CSV file", Args: exactly("SHOP"),
		PreRunE: func(command *cobra.Command, args []string) error {
			if s.json {
				return fmt.Errorf("export writes CSV: for JSON run %s list %s --json", command.Parent().CommandPath(),
					args[0])
			}
			return nil
		},
		RunE: s.command(func(ctx context.Context, args []string) error {
			at := s.now()
			items, err := picked.open(ctx, args[0], at)
			if err != nil {
				return err
			}
			bar := s.newProgress("exported", unknownCount, s.stdout)
			defer bar.end()
			write := func(to io.Writer) error {
				file, one := rows(to, at)
				if err := eachOf(items, one, bar.step); err != nil {
					if bar.done > 0 { // otherwise not even the header is printed
						_ = file.Flush() // err came first
					}
					return err
				}
				return file.Flush()
			}
			if path == "" {
				return write(s.file())
			}
			file, err := newWholeFile(path)
			if err != nil {
				return err
			}
			return file.end(write(file))
		}),
	}
	command.Flags().Var(textFlag(&path), "output",
		"write to `FILE`, which is created or replaced when the export is complete")
	picked.add(command)
	return command
}

func eachOf[T any](items iter.Seq2[T, error], do func(T) error, done func()) error {
	for item, err := range items {
		if err == nil {
			err = do(item)
		}
		if err != nil {
			return err
		}
		done()
	}
	return nil
}

// wholeFile is a file that gets its name when it is complete. Only its owner may read it, because it contains codes and
// nicks.
type wholeFile struct {
	*os.File

	path string
}

func newWholeFile(path string) (*wholeFile, error) {
	if old, err := os.Stat(path); err == nil && !old.Mode().IsRegular() {
		return nil, misused("%s is not a file", path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part") // with mode 0600
	return &wholeFile{file, path}, err
}

// end closes the file and gives it its name. If err is not nil, or end itself fails, it removes the file and returns
// the error.
func (f *wholeFile) end(err error) error {
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // err is more useful than an error of Remove
	}
	return err
}
