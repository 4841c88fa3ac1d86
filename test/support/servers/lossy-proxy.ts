import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

interface Losses {
  /** One of so many answers is lost: by turns all of it, and its second half. */
  readonly every: number
  /** Only answers to this method count; left out, all do. */
  readonly method?: string
}

/** Passes requests on, and loses every nth answer after the service gave it. */
export class LossyProxy {
  /** Answers that were lost so far. */
  lost = 0
  readonly url: string
  private answers = 0
  private readonly losses: Losses
  private readonly server: Server

  private constructor(server: Server, losses: Losses) {
    this.server = server
    this.losses = losses
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async start(target: string, losses: Losses): Promise<LossyProxy> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new LossyProxy(server, losses)
    server.on('request', async (near, response) => {
      const { answer, body } = await passedOn(target, near)
      const isLost = proxy.loses(near.method)
      if (isLost && proxy.lost++ % 2 === 0) {
        near.socket.destroy()
        return
      }
      const { 'transfer-encoding': _, ...headers } = answer.headers
      response.writeHead(answer.statusCode ?? 500, { ...headers, 'content-length': body.length })
      if (!isLost) response.end(body)
      else response.write(body.subarray(0, body.length / 2), () => near.socket.destroy())
    })
    return proxy
  }

  private loses(method: string | undefined): boolean {
    if (this.losses.method !== undefined && method !== this.losses.method) return false
    return ++this.answers % this.losses.every === 0
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }
}

/** The whole answer: the service has done all that it does for it. */
async function passedOn(target: string, near: IncomingMessage) {
  const { method, headers } = near
  const far = request(target + near.url, { method, headers })
  far.end(await buffer(near))
  const [answer] = (await once(far, 'response')) as [IncomingMessage]
  return { answer, body: await buffer(answer) }
}
