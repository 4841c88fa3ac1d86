import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

const AUTHENTICATION_OK = message('R', Buffer.from([0, 0, 0, 0]))
const READY = message('Z', Buffer.from('I'))
const TEXT_TYPE = 25
const BOOLEAN_TYPE = 16

/** One row of one column. */
export interface FakeAnswer {
  readonly column: string
  readonly value: string | boolean
  /** How long the server takes. */
  readonly afterMs?: number
}

/**
 * Speaks as much of PostgreSQL's protocol as a client needs that asks a server for its version: one
 * that is no PostgreSQL.
 *
 * @param answer to each statement; a text is what `select version()` answers
 * @returns its port
 */
export async function startFakePostgres(
  answer: string | ((statement: string) => FakeAnswer | null),
): Promise<number> {
  const answerTo =
    typeof answer === 'string' ? () => ({ column: 'version', value: answer }) : answer
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let isStarted = false
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      if (!isStarted) {
        isStarted = true
        socket.write(Buffer.concat([AUTHENTICATION_OK, READY]))
      } else if (data.toString('latin1', 0, 1) === 'Q') {
        const answered: FakeAnswer | null = answerTo(data.toString())
        if (answered === null) return
        setTimeout(() => socket.write(readRow(answered)), answered.afterMs ?? 0)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

function readRow({ column: name, value }: FakeAnswer): Buffer {
  const isBoolean = typeof value === 'boolean'
  const shown = isBoolean ? (value ? 't' : 'f') : value
  const column = Buffer.alloc(18)
  column.writeInt32BE(isBoolean ? BOOLEAN_TYPE : TEXT_TYPE, 6)
  column.writeInt16BE(-1, 10)
  column.writeInt32BE(-1, 12)
  const description = Buffer.concat([Buffer.from([0, 1]), Buffer.from(`${name}\0`), column])
  const length = Buffer.alloc(4)
  length.writeInt32BE(Buffer.byteLength(shown))
  const row = Buffer.concat([Buffer.from([0, 1]), length, Buffer.from(shown)])
  const end = message('C', Buffer.from('SELECT 1\0'))
  return Buffer.concat([message('T', description), message('D', row), end, READY])
}
