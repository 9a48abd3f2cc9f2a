package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"runtime"

	worker "github.com/turnout-workflows/turnout/sdk/go"
)

const (
	height = 120
	margin = 20
	bar    = 3 // pixels
)

// drawLabel writes a picture and returns where it is: what is large travels as a path.
func drawLabel(ctx context.Context, step *worker.Step) (any, error) {
	var args struct {
		Order struct {
			ID       int `json:"order_id"`
			Customer struct{ Address string }
		}
	}
	config := struct{ Width int }{Width: 400}
	if err := step.Decode(&args); err != nil {
		return nil, worker.Permanent(err)
	}
	if err := step.DecodeConfig(&config); err != nil {
		return nil, worker.Permanent(err)
	}
	if args.Order.Customer.Address == "" {
		return nil, worker.Permanent(errors.New("a label needs an address"))
	}
	number := fmt.Sprintf("TN%08d", args.Order.ID)
	picture, err := barcode(ctx, step, number, config.Width)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(os.Getenv("LABELS"), number+".png")
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		return nil, fmt.Errorf("the label of order %d: %w", args.Order.ID, err)
	}
	step.Logf("label %s for %s: %d bytes in %s", number, args.Order.Customer.Address, len(picture), filepath.Base(file))
	return map[string]any{"tracking_number": number, "file": file, "by": runtime.Version()}, nil
}

// barcode draws the bits of the text as bars. It looks at its context between columns: its work can be cancelled.
func barcode(ctx context.Context, step *worker.Step, text string, width int) ([]byte, error) {
	picture := image.NewGray(image.Rect(0, 0, width, height))
	for x := 0; x < width; x++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		shade := color.Gray{Y: 255}
		if at := (x - margin) / bar; x >= margin && at < 8*len(text) && text[at/8]>>(7-at%8)&1 == 1 {
			shade = color.Gray{}
		}
		for y := 0; y < height; y++ {
			if y < margin || y >= height-margin {
				picture.SetGray(x, y, color.Gray{Y: 255})
				continue
			}
			picture.SetGray(x, y, shade)
		}
		if x%100 == 99 {
			step.Progress(float64(x+1), float64(width), "columns")
		}
	}
	var written bytes.Buffer
	err := png.Encode(&written, picture)
	return written.Bytes(), err
}
