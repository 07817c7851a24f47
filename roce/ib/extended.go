package ib

import "encoding/binary"

// Sizes of the extended transport headers. IBTA 9.3.
const (
	RETHLen         = 16
	AETHLen         = 4
	ImmDtLen        = 4
	IETHLen         = 4
	DETHLen         = 8
	AtomicETHLen    = 28
	AtomicAckETHLen = 8
	CNPReservedLen  = 16 // A17.9.3: sixteen bytes of zeros after the BTH of a CNP
)

// RETH is a view of the RDMA extended transport header. IBTA 9.3.3.
type RETH [RETHLen]byte

// VA is the remote virtual address.
func (h *RETH) VA() uint64 { return binary.BigEndian.Uint64(h[0:8]) }

// SetVA sets the remote virtual address.
func (h *RETH) SetVA(v uint64) { binary.BigEndian.PutUint64(h[0:8], v) }

// RKey names the remote memory region.
func (h *RETH) RKey() uint32 { return binary.BigEndian.Uint32(h[8:12]) }

// SetRKey sets the remote key.
func (h *RETH) SetRKey(v uint32) { binary.BigEndian.PutUint32(h[8:12], v) }

// Length is the number of bytes of the whole message.
func (h *RETH) Length() uint32 { return binary.BigEndian.Uint32(h[12:16]) }

// SetLength sets the length of the whole message.
func (h *RETH) SetLength(v uint32) { binary.BigEndian.PutUint32(h[12:16], v) }

// AETH is a view of the acknowledgement extended transport header. IBTA 9.3.5.
type AETH [AETHLen]byte

// Syndrome says what is acknowledged or refused.
func (h *AETH) Syndrome() Syndrome { return Syndrome(h[0]) }

// SetSyndrome sets the syndrome.
func (h *AETH) SetSyndrome(s Syndrome) { h[0] = byte(s) }

// MSN is the responder's count of completed requests.
func (h *AETH) MSN() MSN { return MSN(get24(h[1:4])) }

// SetMSN sets the message sequence number.
func (h *AETH) SetMSN(m MSN) { put24(h[1:4], uint32(m)) }

// ImmDt is a view of immediate data. IBTA 9.3.6.
type ImmDt [ImmDtLen]byte

// Value is the immediate data in host order.
func (h *ImmDt) Value() uint32 { return binary.BigEndian.Uint32(h[:]) }

// SetValue sets the immediate data.
func (h *ImmDt) SetValue(v uint32) { binary.BigEndian.PutUint32(h[:], v) }

// IETH is a view of the invalidate header. IBTA 9.3.7.
type IETH [IETHLen]byte

// RKey is the key to invalidate.
func (h *IETH) RKey() uint32 { return binary.BigEndian.Uint32(h[:]) }

// SetRKey sets the key to invalidate.
func (h *IETH) SetRKey(v uint32) { binary.BigEndian.PutUint32(h[:], v) }

// DETH is a view of the datagram extended transport header. IBTA 9.3.2.
type DETH [DETHLen]byte

// QKey is the key of the receiving queue pair.
func (h *DETH) QKey() uint32 { return binary.BigEndian.Uint32(h[0:4]) }

// SetQKey sets the queue key.
func (h *DETH) SetQKey(v uint32) { binary.BigEndian.PutUint32(h[0:4], v) }

// SourceQP is the sending queue pair.
func (h *DETH) SourceQP() QPN { return QPN(get24(h[5:8])) }

// SetSourceQP sets the sending queue pair.
func (h *DETH) SetSourceQP(q QPN) { put24(h[5:8], uint32(q)) }

// AtomicETH is a view of the atomic extended transport header. IBTA 9.3.4.
type AtomicETH [AtomicETHLen]byte

// VA is the remote virtual address, a multiple of eight.
func (h *AtomicETH) VA() uint64 { return binary.BigEndian.Uint64(h[0:8]) }

// SetVA sets the remote virtual address.
func (h *AtomicETH) SetVA(v uint64) { binary.BigEndian.PutUint64(h[0:8], v) }

// RKey names the remote memory region.
func (h *AtomicETH) RKey() uint32 { return binary.BigEndian.Uint32(h[8:12]) }

// SetRKey sets the remote key.
func (h *AtomicETH) SetRKey(v uint32) { binary.BigEndian.PutUint32(h[8:12], v) }

// SwapAdd is the value to add or to store.
func (h *AtomicETH) SwapAdd() uint64 { return binary.BigEndian.Uint64(h[12:20]) }

// SetSwapAdd sets the value to add or to store.
func (h *AtomicETH) SetSwapAdd(v uint64) { binary.BigEndian.PutUint64(h[12:20], v) }

// Compare is the value to compare with.
func (h *AtomicETH) Compare() uint64 { return binary.BigEndian.Uint64(h[20:28]) }

// SetCompare sets the value to compare with.
func (h *AtomicETH) SetCompare(v uint64) { binary.BigEndian.PutUint64(h[20:28], v) }

// AtomicAckETH is a view of what an atomic found. IBTA 9.5.3.
type AtomicAckETH [AtomicAckETHLen]byte

// Original is the value before the operation.
func (h *AtomicAckETH) Original() uint64 { return binary.BigEndian.Uint64(h[:]) }

// SetOriginal sets the value before the operation.
func (h *AtomicAckETH) SetOriginal(v uint64) { binary.BigEndian.PutUint64(h[:], v) }
