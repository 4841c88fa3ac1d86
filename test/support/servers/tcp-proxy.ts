import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** Stands between a client and a server, and can fail as networks do. */
export class TcpProxy {
  readonly port: number
  private readonly server: Server
  private readonly sockets = new Set<Socket>()
  private delayMs = 0

  private constructor(server: Server) {
    this.server = server
    this.port = (server.address() as AddressInfo).port
  }

  /** @param port to listen on; 0 picks a free one */
  static async start(targetPort: number, port = 0): Promise<TcpProxy> {
    const server = createServer()
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new TcpProxy(server)
    server.on('connection', (near) => {
      const far = connect(targetPort, '127.0.0.1')
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        proxy.sockets.add(from)
        from.on('data', (data) => {
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

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    this.server.close()
    await once(this.server, 'close')
  }
}
