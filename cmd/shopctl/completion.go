package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shopfront/pkg/catalog"
)

// completionTimeout is how long a shell waits for names from the target. If the target does not respond by then,
// nothing is completed.
const completionTimeout = 2 * time.Second

// namesOf returns the names that could complete the typed word. args are the arguments before that word.
type namesOf func(ctx context.Context, args []string, typed string) []cobra.Completion

// completeNames lets shells complete shops, batches, products and rewards in the arguments and flags of a command and
// its subcommands.
func (s *session) completeNames(command *cobra.Command) {
	flags := map[string]namesOf{
		"batch": s.batchNames, "resume": s.batchNames, "product": s.productNames,
		"reward": s.rewardNames,
	}
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if names := flags[flag.Name]; names != nil {
			// cannot fail: the flag exists, and has no completion yet
			_ = command.RegisterFlagCompletionFunc(flag.Name, completer(names))
		}
	})
	if takes := strings.Fields(command.Use); command.ValidArgsFunction == nil && len(takes) > 1 &&
		strings.Trim(takes[1], "[]") == "SHOP" {
		command.ValidArgsFunction = completer(s.shopNames)
	}
	for _, below := range command.Commands() {
		s.completeNames(below)
	}
}

func completer(names namesOf) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
		defer cancel()
		isOther := func(name string) bool { return !strings.HasPrefix(name, typed) }
		return slices.DeleteFunc(names(ctx, args, typed), isOther), cobra.ShellCompDirectiveNoFileComp
	}
}

func (s *session) shopNames(ctx context.Context, args []string, _ string) []cobra.Completion {
	if len(args) > 0 {
		return nil
	}
	deployment, err := s.deployment(ctx)
	if err != nil {
		return nil
	}
	shops, _ := deployment.Shops(ctx) // a shell cannot show errors
	return represent(
		shops, func(c catalog.Profile) cobra.Completion { return cobra.CompletionWithDesc(string(c.ID), c.Name) },
	)
}

func (s *session) batchNames(ctx context.Context, args []string, _ string) []cobra.Completion {
	if len(args) == 0 {
		return nil
	}
	shop, err := s.shop(ctx, args[0])
	if err != nil {
		return nil
	}
	return shop.SomeBatches(ctx)
}

func (s *session) productNames(ctx context.Context, args []string, _ string) []cobra.Completion {
	return represent(s.products(ctx, args),
		func(p catalog.Product) cobra.Completion { return cobra.CompletionWithDesc(string(p.ID), p.Name) })
}

// rewardNames completes the last variant of a reward such as coins/1000+2*rank/vip.
func (s *session) rewardNames(ctx context.Context, args []string, typed string) []cobra.Completion {
	before := typed[:strings.LastIndexAny(typed, "+*")+1]
	var rewards []cobra.Completion
	for _, product := range s.products(ctx, args) {
		for _, variant := range product.Variants {
			reward := before + string(product.ID) + "/" + string(variant.ID)
			rewards = append(rewards, cobra.CompletionWithDesc(reward, product.Name+", "+variant.Name))
		}
	}
	return rewards
}

// products returns the products of the shop that the first argument names, or nil.
func (s *session) products(ctx context.Context, args []string) []catalog.Product {
	if len(args) == 0 {
		return nil
	}
	deployment, err := s.deployment(ctx)
	if err != nil {
		return nil
	}
	id, _ := parseShop(args[0])                   // if it fails, the ID is empty, and no shop has that ID
	shop, _ := deployment.CatalogueEntry(ctx, id) // a shell cannot show errors
	return shop.Products
}
