import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/** Addresses of a name as bytes, or `silent`: it is never answered for. */
export type NamedAddresses =
  | { readonly ipv4?: readonly number[]; readonly ipv6?: readonly number[] }
  | 'silent'

const HEADER_BYTES = 12
const TYPES = { 1: 'ipv4', 28: 'ipv6' } as const
const UNKNOWN_NAME = 3

/** A name server on the loopback (RFC 1035), for one question in a datagram. */
export class NameServer {
  /** `address:port`. */
  readonly address: string
  /** Names that were asked for, in their order. */
  readonly asked: string[]
  private readonly socket: Socket

  private constructor(socket: Socket, asked: string[]) {
    this.socket = socket
    this.asked = asked
    this.address = `127.0.0.1:${socket.address().port}`
  }

  static async start(names: Readonly<Record<string, NamedAddresses>>): Promise<NameServer> {
    const socket = createSocket('udp4')
    const asked: string[] = []
    socket.on('message', (query, { port, address }) => {
      const { name, type, endsAt } = questionIn(query)
      asked.push(name)
      const known = names[name]
      if (known === 'silent') return
      const family = TYPES[type as keyof typeof TYPES]
      const data = known?.[family]
      socket.send(
        answerTo(query.subarray(0, endsAt), known !== undefined, type, data),
        port,
        address,
      )
    })
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    return new NameServer(socket, asked)
  }

  async stop(): Promise<void> {
    const closed = once(this.socket, 'close')
    this.socket.close()
    await closed
  }
}

function questionIn(query: Buffer): { name: string; type: number; endsAt: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), endsAt: at + 5 }
}

/** Repeats the question, with at most one record. */
function answerTo(
  question: Buffer,
  isKnown: boolean,
  type: number,
  data: readonly number[] | undefined,
): Buffer {
  const head = Buffer.from(question)
  head.writeUInt16BE(0x8180 | (isKnown ? 0 : UNKNOWN_NAME), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data === undefined ? 0 : 1, 6)
  head.writeUInt32BE(0, 8)
  if (data === undefined) return head
  const record = Buffer.alloc(12)
  record.writeUInt16BE(0xc000 | HEADER_BYTES, 0)
  record.writeUInt16BE(type, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, record, Buffer.from(data)])
}
