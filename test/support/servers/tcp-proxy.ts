import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

interface Watched {
  readonly text: Buffer
  readonly timesMax: number
  times: number
}

interface Held {
  readonly text: Buffer
  readonly onHeld: () => void
}

/** Stands between a client and a server, and can fail as networks do. */
export class TcpProxy {
  readonly port: number
  /** Those that clients opened so far. */
  connections = 0
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private delayMs = 0
  private targetPort: number
  private isRefusing = false
  private watched: Watched | null = null
  private held: Held | null = null

  private constructor(server: Server, targetPort: number) {
    this.server = server
    this.targetPort = targetPort
    this.port = (server.address() as AddressInfo).port
  }

  /** @param port to listen on; 0 picks a free one */
  static async start(targetPort: number, port = 0): Promise<TcpProxy> {
    const server = createServer()
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new TcpProxy(server, targetPort)
    server.on('connection', (near) => {
      proxy.connections++
      if (proxy.isRefusing) {
        near.destroy()
        return
      }
      const far = connect(proxy.targetPort, '127.0.0.1')
      const watch = (data: Buffer) => proxy.holdsAt(data) || proxy.cutsAt(data, near, far)
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        proxy.sockets.add(from)
        from.on('data', (data) => {
          if (from === near && watch(data)) return
          if (proxy.delayMs === 0) to.write(data)
          else setTimeout(() => to.writable && to.write(data), proxy.delayMs)
        })
        from.on('close', () => to.destroy())
        from.on('error', () => to.destroy())
      }
    })
    return proxy
  }

  /** From now on each direction takes this much longer. */
  delay(ms: number): void {
    this.delayMs = ms
  }

  /** Drops what is sent on the open connections, without an error; new connections work. */
  silenceConnections(): void {
    for (const socket of this.sockets) {
      socket.removeAllListeners('data')
      socket.removeAllListeners('close')
      socket.resume()
    }
  }

  /** Ends all connections, and takes none until `admit`. */
  refuse(): void {
    this.isRefusing = true
    this.cut()
  }

  admit(): void {
    this.isRefusing = false
  }

  /** From now on new connections go to another server; the open ones stay. */
  routeNewTo(port: number): void {
    this.targetPort = port
  }

  /** From now on new connections go to another server; the open ones end. */
  retarget(port: number): void {
    this.targetPort = port
    this.cut()
  }

  /**
   * Ends connections that send this text: one before the server gets it, the next one after, so
   * that its answer is lost, and so on.
   *
   * @returns how many were ended so far
   */
  cutConnectionsAt(text: string, timesMax: number): () => number {
    const watched = { text: Buffer.from(text), timesMax, times: 0 }
    this.watched = watched
    return () => watched.times
  }

  /** Swallows the next message with this text, as a process that was frozen before it sent it. */
  holdNext(text: string): Promise<void> {
    return new Promise((resolve) => {
      this.held = { text: Buffer.from(text), onHeld: resolve }
    })
  }

  private holdsAt(data: Buffer): boolean {
    const { held } = this
    if (held === null || !data.includes(held.text)) return false
    this.held = null
    held.onHeld()
    return true
  }

  private cutsAt(data: Buffer, near: Socket, far: Socket): boolean {
    const { watched } = this
    if (watched === null || watched.times >= watched.timesMax || !data.includes(watched.text)) {
      return false
    }
    if (watched.times++ % 2 === 0) far.destroy()
    else {
      far.removeAllListeners('data')
      far.end(data)
    }
    near.destroy()
    return true
  }

  private cut(): void {
    for (const socket of this.sockets) socket.destroy()
    this.sockets.clear()
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    this.server.close()
    await once(this.server, 'close')
  }
}
