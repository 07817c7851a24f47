package app

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// half of the messages are up to 1,000 bytes, the others up to 9,000.
var half = Sizes{{0, 0}, {1000, 0.5}, {9000, 1}}

func TestSizesBetweenPoints(t *testing.T) {
	for _, c := range []struct {
		sizes Sizes
		p     float64
		want  int
	}{
		{half, 0, 0}, {half, 0.25, 500}, {half, 0.5, 1000}, {half, 0.75, 5000},
		{half, 1 - 1.0/16000, 8999},
		{Sizes{{64, 1}}, 0.9, 64}, // all are of one size
		{Sizes{{64, 0.9}, {64, 0.95}, {164, 1}}, 0.1, 64},
		{Sizes{{64, 0.9}, {64, 0.95}, {164, 1}}, 0.92, 64},
		{Sizes{{64, 0.75}, {164, 1}}, 0.875, 114},
	} {
		if got := c.sizes.at(c.p); got != c.want {
			t.Errorf("%v of %v: %d, want %d", c.p, c.sizes, got, c.want)
		}
	}
}

// TestSizesMean: the mean of half is (500 + 5000) / 2 = 2750. Its second moment is
// (1000^2/3 + 5000^2 + 8000^2/12) / 2.
func TestSizesMean(t *testing.T) {
	const draws = 100_000
	variance := (1000*1000/3.0+5000*5000+8000*8000/12.0)/2 - 2750*2750
	from := rand.New(rand.NewPCG(1, sizeStream))
	sum := 0
	for range draws {
		sum += half.draw(from)
	}
	if got, most := float64(sum)/draws, 5*math.Sqrt(variance/draws); math.Abs(got-2750) > most {
		t.Errorf("mean %v, want 2750 +- %v", got, most)
	}
}

// TestSameSeedSameMessages: sizes and times come from the seed alone, on every machine, and the
// sizes are the same whether or not times are drawn between them.
func TestSameSeedSameMessages(t *testing.T) {
	f := Flow{Sizes: half, Interval: 1000, Arrivals: Poisson, Seed: 7}
	s := newSource(&f)
	f.Interval = 0
	closed := newSource(&f)
	var bytes, same []int
	var times []int64
	for range 6 {
		s.arrive()
		m := s.take(0)
		bytes, times = append(bytes, m.bytes), append(times, int64(m.arrived))
		same = append(same, closed.take(0).bytes)
	}
	wantBytes := []int{8919, 6160, 51, 439, 653, 523}
	wantTimes := []int64{451, 1056, 1370, 2759, 2815, 4908}
	if !slices.Equal(bytes, wantBytes) || !slices.Equal(times, wantTimes) {
		t.Errorf("sizes %v, times %v", bytes, times)
	}
	if !slices.Equal(same, wantBytes) {
		t.Errorf("without times: %v", same)
	}
}

// TestPoissonGaps: mean and standard deviation of an exponential distribution are the same. The
// deviation of the estimate of the latter, with kurtosis 9, is sqrt(2/n) of it.
func TestPoissonGaps(t *testing.T) {
	const draws, mean = 100_000, 1e6
	s := newSource(&Flow{Interval: mean, Arrivals: Poisson, Seed: 3})
	var sum, squares float64
	for range draws {
		g := float64(s.gap(mean))
		sum, squares = sum+g, squares+g*g
	}
	got := sum / draws
	deviation := math.Sqrt(squares/draws - got*got)
	if math.Abs(got-mean) > 5*mean/math.Sqrt(draws) {
		t.Errorf("mean %v, want %v", got, mean)
	}
	if math.Abs(deviation-mean) > 5*mean*math.Sqrt(2.0/draws) {
		t.Errorf("standard deviation %v, want %v", deviation, mean)
	}
}
