package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A user may copy any example from the help into a terminal while the demo shop runs.
func TestHelp_ExamplesWorkWithTheDemoShop(t *testing.T) {
	demo, err := os.ReadFile("../../examples/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := newShopfront(t)
	t.Chdir(s.dir)
	if err := os.Mkdir("examples", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("examples", "demo.yaml"), demo, 0o600); err != nil {
		t.Fatal(err)
	}
	s.must(t, "catalog", "apply", "examples/demo.yaml")
	s.must(t, "key", "create", "emberforge", "--name", "till")
	keyID := s.onlyKey(t)
	feed := s.serveFeed(t, 1)
	feed.atEnd = func(int) { feed.events++ } // a command that waits for an event gets one
	receiver := s.newReceiver(t)
	root := newRootCommand(&session{program: s.program(nil, nil)})
	root.InitDefaultHelpCmd()
	examplesOf(t, root, func(t *testing.T, example string) {
		t.Helper()
		line, file, redirected := strings.Cut(example, " > ")
		redemption := s.redeem(t, "emberforge", "FORUM-5", "Alder")
		words := splitWords(t, strings.NewReplacer(
			"emberforge ID", "emberforge "+s.exampleID(t, line), "FORUM-5 ID", "FORUM-5 "+redemption, "KEY-ID", keyID,
			"http://localhost:8080/events", receiver.url, "PLACE", s.park(t, "G1FT"),
		).Replace(line))
		if len(words) < 2 || words[0] != "shopctl" {
			t.Fatalf("the example does not call shopctl: %q", example)
		}
		run := func(args ...string) result { return s.shopctl(t.Context(), args...) }
		if strings.Contains(line, "--local events tail") || strings.Contains(line, "--local events forward") {
			run = func(args ...string) result { return s.interrupted(t, 1, args...) } // it runs until Ctrl-C
		}
		got := run(words[1:]...)
		if got.exit != exitOK {
			t.Errorf("%s\n%v", example, got)
		}
		if redirected {
			if err := os.WriteFile(file, []byte(got.stdout), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// exampleID returns the ID that the example needs: of a new checkout, of a new order, or of an event.
func (s *shopfront) exampleID(t *testing.T, line string) string {
	t.Helper()
	if strings.Contains(line, " events ") {
		s.must(t, "events", "rebuild", "emberforge")
		fields := strings.Split(s.must(t, "events", "list", "emberforge", "--limit", "1", "--json"), `"`)
		return fields[3] // {"id":"MTCXgwWFAhhCzmYLdegdZw",
	}
	id := s.checkOut(t, "1")
	if strings.Contains(line, " order ") && !strings.Contains(line, " order place ") {
		s.place(t, id)
	}
	return id
}

// examplesOf calls try for each example of a command and its subcommands. Every command must have an example, except
// groups and dev, which would start another run.
func examplesOf(t *testing.T, command *cobra.Command, try func(t *testing.T, example string)) {
	t.Helper()
	if command.Name() == "dev" || command.Name() == "help" || command.Name() == "completion" {
		return
	}
	if command.Example == "" && !command.HasSubCommands() {
		t.Errorf("%s has no example", command.CommandPath())
	}
	for example := range strings.Lines(command.Example) {
		try(t, strings.ReplaceAll(strings.TrimSpace(example), `"`, "'"))
	}
	for _, below := range command.Commands() {
		examplesOf(t, below, try)
	}
}

// The pages show commands as they are typed. A command that is renamed, or loses a flag, is found here.
func TestDocs_CommandsAndFlagsExist(t *testing.T) {
	block := regexp.MustCompile("(?ms)^ *```(?:sh|console)$(.*?)^ *```$")
	command := regexp.MustCompile(`(?m)^ *(?:\$ )?(?:export )?(?:\w+=\$\()?bin/shopctl (.*?)(?:\)| > .*| # .*)?$`)
	checked := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/*.md"} {
		pages, _ := filepath.Glob(filepath.Join("../..", pattern)) // fails only for a malformed pattern
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, code := range block.FindAllString(string(text), -1) {
				for _, line := range command.FindAllStringSubmatch(code, -1) {
					typed := strings.NewReplacer(`"`, "'", " TIME", " 2026-11-01").Replace(line[1])
					if err := parse(splitWords(t, typed)); err != nil {
						t.Errorf("%s: shopctl %s: %v", page, line[1], err)
					}
					checked++
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("the pages show %d commands, which is fewer than expected", checked)
	}
}

// parse returns an error if shopctl would reject the arguments before it runs the command.
func parse(args []string) error {
	root := newRootCommand(&session{})
	root.InitDefaultHelpFlag()
	command, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	if help, _ := command.Flags().GetBool("help"); help {
		return nil
	}
	return command.ValidateArgs(command.Flags().Args())
}
