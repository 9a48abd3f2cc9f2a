module turnout/worker

go 1.19
