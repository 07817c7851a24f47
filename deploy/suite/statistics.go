package suite

import (
	"math"
	"slices"
)

// confidence of the intervals.
const confidence = 0.95

// Interval returns the mean of values, one of each seed, and between which limits the true mean
// lies with 95 % confidence: mean -+ t s / sqrt(n), t of Student's distribution with n - 1 degrees
// of freedom. With one value there is no interval; without any, mean is NaN.
// NIST/SEMATECH e-Handbook of Statistical Methods 1.3.5.2
func Interval(values []float64) (mean float64, ci *[2]float64) {
	return IntervalAt(confidence, values)
}

// IntervalAt is Interval with another confidence, between 0 and 1.
func IntervalAt(confidence float64, values []float64) (mean float64, ci *[2]float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	if len(values) == 0 {
		return math.NaN(), nil
	}
	if len(values) == 1 {
		return mean, nil
	}
	squares := 0.0
	for _, v := range values {
		squares += float64((v - mean) * (v - mean))
	}
	half := studentT(confidence, len(values)-1) * math.Sqrt(squares/(n-1)/n)
	return mean, &[2]float64{mean - half, mean + half}
}

// studentT is the t that a value of Student's distribution stays below in magnitude with the
// probability of confidence.
func studentT(confidence float64, freedom int) float64 {
	// The probability grows with theta = arctan(t / sqrt(freedom)) from 0 to 1.
	low, high := 0.0, math.Pi/2
	for range 60 { // halves the interval to the precision of a float64
		if theta := (low + high) / 2; within(theta, freedom) < confidence {
			low = theta
		} else {
			high = theta
		}
	}
	return math.Tan(low) * math.Sqrt(float64(freedom))
}

// within is the probability A(t|v) of Student's distribution with v degrees of freedom, for
// theta = arctan(t / sqrt(v)). Abramowitz and Stegun 26.7.3 (odd v) and 26.7.4 (even v)
func within(theta float64, v int) float64 {
	sin, cos := math.Sincos(theta)
	term, sum := 1.0, 0.0
	if v%2 == 0 {
		for k := 0; k < v; k += 2 {
			sum += term
			term *= float64(cos*cos) * float64(k+1) / float64(k+2)
		}
		return sin * sum
	}
	term = cos
	for k := 1; k < v; k += 2 {
		sum += term
		term *= float64(cos*cos) * float64(k+1) / float64(k+2)
	}
	return 2 / math.Pi * (theta + float64(sin*sum))
}

// Jain is the fairness index of shares: (sum x)^2 / (n sum x^2), 1 if all are equal, 1/n if one
// has everything. Jain, Chiu, Hawe 1984 (DEC-TR-301). That of nothing at all is 0.
func Jain(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += x
		squares += float64(x * x)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// Quantile returns the value below which the part p of the values lies, 0 <= p <= 1. Between two
// values it is on the straight line that joins them: with the n values sorted, and counted from 0,
// it is the one at p (n - 1). Hyndman and Fan 1996, definition 7. That of no values is NaN.
func Quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := p * float64(len(sorted)-1)
	below := min(max(int(at), 0), len(sorted)-1)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + float64((at-float64(below))*(sorted[above]-sorted[below]))
}
