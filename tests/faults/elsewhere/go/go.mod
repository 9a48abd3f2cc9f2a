module turnout/faults

go 1.19

require turnout/worker v0.0.0

replace turnout/worker => ../../../../sdk/go
