import { Duplex } from 'node:stream'

/** The server's end of a connection without a network: a test pushes what a client sends. */
export class MemorySocket extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  private readonly written: Buffer[] = []

  constructor() {
    super({ allowHalfOpen: true })
  }

  /** What the server sent so far. */
  get sent(): Buffer {
    return Buffer.concat(this.written)
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.written.push(chunk)
    done()
  }

  setTimeout(): this {
    return this
  }

  destroySoon(): void {
    this.end(() => this.destroy())
  }
}
