package nicd

import _ "embed"

// Sample is a commented configuration with the defaults.
//
//go:embed sample.yaml
var Sample string
