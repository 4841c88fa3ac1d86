import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** A message as the receiver got it. */
export interface ReceivedMessage {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const SLOW_MS = 30_000
const INFORMS_EVERY_MS = 10
const TEXT_BYTES = 4 * 1024 * 1024

/**
 * A receiver in a process of its own. The path says what it does: `/ok` answers 204, `/slow` after
 * 30 s, `/status/N` with the status N, `/redirect` with a redirect to `/private`, `/large` with a
 * long body, `/once` with 500 to the first message of an id and then with 204. `/upgrade` answers
 * 101 to another protocol, `/switch` 101 to none, `/informs` with one 103 after the other, and
 * `/hang-up` ends the connection.
 */
export class WebhookReceiver {
  readonly url: string
  private readonly child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.child = child
    this.url = url
  }

  /** @param port 0 for any */
  static async start(port = 0): Promise<WebhookReceiver> {
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    return new WebhookReceiver(child, line.toString().trim())
  }

  /** All messages so far. */
  async received(): Promise<readonly ReceivedMessage[]> {
    return (await fetch(`${this.url}/received`)).json() as Promise<ReceivedMessage[]>
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const ended = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await ended
  }
}

/** Answers that no server of HTTP would give. */
const SOCKETS_OF: Readonly<Record<string, (socket: Socket) => void>> = {
  '/upgrade': (socket) =>
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n',
    ),
  '/switch': (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
  '/informs': (socket) => {
    const inform = () => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n')
    const timer = setInterval(inform, INFORMS_EVERY_MS)
    socket.on('error', () => undefined).on('close', () => clearInterval(timer))
  },
  '/hang-up': (socket) => socket.destroy(),
}

function serve(port: number): void {
  const received: ReceivedMessage[] = []
  const seen = new Set<string>()
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    if (path === '/received') {
      response.end(JSON.stringify(received))
      return
    }
    const [wanted = ''] = path.split('?')
    let body = ''
    for await (const chunk of request) body += chunk
    received.push({ path, headers: request.headers as Record<string, string>, body })
    const id = String(request.headers['webhook-id'])
    const isFirst = !seen.has(id)
    seen.add(id)
    if (wanted === '/slow') await delay(SLOW_MS)
    if (wanted === '/redirect') {
      response.writeHead(307, { location: '/private' }).end()
      return
    }
    if (SOCKETS_OF[wanted] !== undefined) {
      SOCKETS_OF[wanted](request.socket)
      return
    }
    const [, status] = /^\/status\/(\d+)$/.exec(wanted) ?? []
    if (wanted === '/large') {
      response.writeHead(200).end('x'.repeat(TEXT_BYTES))
      return
    }
    response.writeHead(status ? Number(status) : wanted === '/once' && isFirst ? 500 : 204).end()
  })
  server.listen(port, '127.0.0.1', () => {
    const address = server.address()
    const found = typeof address === 'object' && address !== null ? address.port : port
    process.stdout.write(`http://127.0.0.1:${found}\n`)
  })
}

if (import.meta.main) serve(Number(process.argv[2] ?? 0))
