// Package netspace runs functions inside network namespaces.
package netspace

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
)

// Do runs fn on a thread of its own inside the named namespace, or in the current one if name is
// empty. Sockets that fn opens stay in the namespace; goroutines it starts do not.
func Do(name string, fn func() error) error {
	return onOwnThread(func() error {
		if name == "" {
			return fn()
		}
		h, err := netns.GetFromName(name)
		if err != nil {
			return fmt.Errorf("network namespace %s: %w", name, err)
		}
		defer h.Close()
		if err := netns.Set(h); err != nil {
			return fmt.Errorf("enter network namespace %s: %w", name, err)
		}
		return fn()
	})
}

// Create makes a namespace with a name, as `ip netns add` does.
func Create(name string) error {
	err := onOwnThread(func() error {
		h, err := netns.NewNamed(name)
		if err != nil {
			return err
		}
		return h.Close()
	})
	if err != nil {
		return fmt.Errorf("create network namespace %s: %w", name, err)
	}
	return nil
}

// onOwnThread runs fn on a thread that ends with it: its namespace may have changed, so it must
// not be given back to the runtime.
func onOwnThread(fn func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- fn()
	}()
	return <-done
}
