module github.com/rocelab/rocelab

go 1.26
