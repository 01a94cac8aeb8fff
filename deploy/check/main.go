// Reads a Compose file as Docker does, prints what it means as YAML, and fails on unknown keys, wrong types and
// undefined references. Needs no Docker engine. Usage: go run . FILE
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if err := check(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func check(files []string) error {
	options, err := cli.NewProjectOptions(files,
		cli.WithInterpolation(true), cli.WithResolvedPaths(true), cli.WithConsistency(true),
		cli.WithDefaultProfiles("*"))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	text, err := project.MarshalYAML()
	if err != nil {
		return err
	}
	fmt.Print(string(text))
	return nil
}
