-- Wireshark post-dissector for RoCEv2: names what the InfiniBand dissector of Wireshark 4.0 does not
-- know (CNP, opcode 0x81), and checks the ICRC, which it shows but never verifies.
--
--   tshark -X lua_script:rocelab.lua -r demo-out/dcqcn.pcapng -Y rocelab.cnp
--
-- or copy it into the personal Lua plugins folder (Help, About, Folders).

local roce = Proto("rocelab", "RoCEv2 checks")
local cnp = ProtoField.bool("rocelab.cnp", "Congestion notification packet")
local icrc_ok = ProtoField.bool("rocelab.icrc.ok", "ICRC is right")
local icrc_want = ProtoField.uint32("rocelab.icrc.calculated", "Calculated ICRC", base.HEX)
local qp = ProtoField.uint24("rocelab.destqp", "Destination QP", base.HEX)
roce.fields = { cnp, icrc_ok, icrc_want, qp }

local udp_dst = Field.new("udp.dstport")
local ip_version = Field.new("ip.version")
local ip6_version = Field.new("ipv6.version")
local ip_len = Field.new("ip.len")

local roce_port = 4791
local opcode_cnp = 0x81

-- CRC-32 of IEEE 802.3, byte by byte.
local crc_table = {}
for i = 0, 255 do
    local c = i
    for _ = 1, 8 do
        local odd = c % 2 == 1
        c = bit32.rshift(c, 1)
        if odd then c = bit32.bxor(c, 0xedb88320) end
    end
    crc_table[i] = c
end

-- Offsets, from the IP header, of the bytes that the ICRC takes as all ones: those that routers may
-- change, the UDP checksum, and the byte with FECN and BECN. IBTA volume 1 annex A17.3.3.
local masked4 = { [1] = true, [8] = true, [10] = true, [11] = true }
local masked6 = { [1] = true, [2] = true, [3] = true, [7] = true }

-- icrc calculates over the packet in bytes from index first, the IP header, to last.
local function icrc(bytes, first, last, ip6)
    local header = ip6 and 40 or bit32.band(bytes:get_index(first), 0x0f) * 4
    local masked = ip6 and masked6 or masked4
    local c = 0xffffffff
    local function eat(b)
        c = bit32.bxor(crc_table[bit32.band(bit32.bxor(c, b), 0xff)], bit32.rshift(c, 8))
    end
    for _ = 1, 8 do eat(0xff) end
    for i = first, last do
        local at = i - first
        local b = bytes:get_index(i)
        if masked[at] or at == header + 6 or at == header + 7 or at == header + 12 then
            b = 0xff
        elseif ip6 and at == 0 then
            b = bit32.bor(b, 0x0f)
        end
        eat(b)
    end
    return bit32.bnot(c)
end

-- network returns where the IP header starts and how long the IP packet is.
local function network(tvb, info)
    if info then
        return info.offset, ip_len().value, false
    end
    local six = ip6_version()
    return six.offset, 40 + tvb(six.offset + 4, 2):uint(), true
end

function roce.dissector(tvb, pinfo, tree)
    local port = udp_dst()
    if not port or port.value ~= roce_port then return end
    local start, size, ip6 = network(tvb, ip_version())
    local header = ip6 and 40 or bit32.band(tvb(start, 1):uint(), 0x0f) * 4
    local bth = start + header + 8
    if start + size > tvb:len() or bth + 16 > start + size then return end -- cut short

    local sub = tree:add(roce, tvb(bth, start + size - bth))
    local want = icrc(tvb:bytes(), start, start + size - 5, ip6)
    local got = tvb(start + size - 4, 4):le_uint()
    sub:add(icrc_ok, tvb(start + size - 4, 4), got == want)
    if got ~= want then
        sub:add(icrc_want, want):set_generated()
        pinfo.cols.info:append(" [wrong ICRC]")
    end
    if tvb(bth, 1):uint() == opcode_cnp then
        sub:add(cnp, tvb(bth, 1), true)
        sub:add(qp, tvb(bth + 5, 3))
        pinfo.cols.info = string.format("CNP QP=0x%06x", tvb(bth + 5, 3):uint())
    end
end

register_postdissector(roce)
