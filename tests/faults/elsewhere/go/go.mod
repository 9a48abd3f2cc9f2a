module turnout/faults

go 1.19

require github.com/turnout-workflows/turnout/sdk/go v0.0.0

replace github.com/turnout-workflows/turnout/sdk/go => ../../../../sdk/go
