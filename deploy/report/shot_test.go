package report

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/tests/require"
)

// TestScreenshot lets a real browser draw the page, and looks whether it drew the curves of both
// runs, in the colours of the light and the dark scheme.
func TestScreenshot(t *testing.T) {
	require.Tool(t, "chromium")
	r := synthetic(4, 1000)
	light := screenshot(t, r)
	if n := len(colours(light)); n < 200 {
		t.Errorf("the picture has %d colours: almost nothing is drawn", n)
	}
	half := light.Bounds()
	half.Max.X /= 2
	other := light.Bounds()
	other.Min.X = half.Max.X
	for i, c := range []color.RGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff},
		{0xcc, 0x79, 0xa7, 0xff},
	} {
		for _, part := range []image.Rectangle{half, other} {
			if n := pixels(light, part, c); n < 200 {
				t.Errorf("flow %d has %d pixels of its colour in %v", i, n, part)
			}
		}
	}
	dark := screenshot(t, r, "--blink-settings=preferredColorScheme=0")
	if at := color.RGBAModel.Convert(dark.At(2, 2)); at != (color.RGBA{0x14, 0x18, 0x1c, 0xff}) {
		t.Errorf("the dark page is %v", at)
	}
	if n := pixels(dark, dark.Bounds(), color.RGBA{0x4f, 0xb0, 0xee, 0xff}); n < 200 {
		t.Errorf("the first flow has %d pixels in its dark colour", n)
	}
}

// TestSuiteScreenshot lets a browser draw the report of a suite, and looks for its curves.
func TestSuiteScreenshot(t *testing.T) {
	require.Tool(t, "chromium")
	dir := t.TempDir()
	if err := WriteSuite(dir, syntheticSuite(), nil); err != nil {
		t.Fatal(err)
	}
	img := picture(t, dir, "suite", "--window-size=1280,3000")
	for i, c := range []color.RGBA{{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff},
		{0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff}} {
		if n := pixels(img, img.Bounds(), c); n < 100 {
			t.Errorf("curve %d has %d pixels of its colour", i, n)
		}
	}
	// On a narrow screen the verdicts of the summary stand below their claims, not beside the page.
	narrow := picture(t, dir, "suite-narrow", "--window-size=500,700")
	if n := pixels(narrow, narrow.Bounds(), color.RGBA{0xb3, 0x26, 0x1e, 0xff}); n < 50 {
		t.Errorf("%d pixels of the verdict on what does not hold", n)
	}
}

func colours(img image.Image) map[color.Color]bool {
	seen := map[color.Color]bool{}
	for y := range img.Bounds().Max.Y {
		for x := range img.Bounds().Max.X {
			seen[img.At(x, y)] = true
		}
	}
	return seen
}

// pixels counts those close to a colour: most of a thin line is blended with what is behind it.
func pixels(img image.Image, part image.Rectangle, want color.RGBA) (n int) {
	near := func(a, b uint8) bool { return max(a, b)-min(a, b) < 24 }
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			if near(c.R, want.R) && near(c.G, want.G) && near(c.B, want.B) {
				n++
			}
		}
	}
	return n
}

// screenshot writes the folder of a result and returns what a browser makes of its page. With
// ROCELAB_SHOTS set to a directory the picture is kept there, for a person to look at.
func screenshot(t *testing.T, r *result.Result, flags ...string) image.Image {
	t.Helper()
	dir := t.TempDir()
	if err := WriteFolder(dir, r); err != nil {
		t.Fatal(err)
	}
	return picture(t, dir, fmt.Sprintf("%d-flows-%d-flags", len(r.Runs[0].Flows), len(flags)),
		flags...)
}

// picture returns what a browser makes of the page in a folder, and keeps it likewise.
func picture(t *testing.T, dir, name string, flags ...string) image.Image {
	t.Helper()
	shot := filepath.Join(dir, "shot.png")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--user-data-dir=" + filepath.Join(dir, "profile"),
		"--screenshot=" + shot, "--window-size=1280,1800",
	}, flags...)
	out, err := exec.CommandContext(ctx, "chromium",
		append(args, "file://"+filepath.Join(dir, ReportFile))...).CombinedOutput()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, out)
	}
	text, err := os.ReadFile(shot)
	if err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("ROCELAB_SHOTS"); keep != "" {
		if err := os.WriteFile(filepath.Join(keep, name+".png"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}
