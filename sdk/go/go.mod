module github.com/turnout-workflows/turnout/sdk/go

go 1.19
