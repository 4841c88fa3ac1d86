import { runInThread, type ThreadBounds } from '../platform/threads.ts'
import type { Asset, ConsoleFiles } from './assets.ts'

const WORKER = new URL('./files-worker.ts', import.meta.url)
/** Some twenty times what it takes. */
const BOUNDS: ThreadBounds = { memoryMb: 512, deadlineMs: 60_000 }

/**
 * Returns what gives the console's files. They are made once, for the first who asks.
 *
 * A thread makes them and ends: to remove types takes 0.2 s, which would delay scores or the start.
 * If it fails, the next who asks tries again.
 */
export function openConsoleFiles(): () => Promise<ConsoleFiles> {
  let made: Promise<ConsoleFiles> | null = null
  return () => {
    made ??= makeFiles().catch((error: unknown) => {
      made = null
      throw error
    })
    return made
  }
}

async function makeFiles(): Promise<ConsoleFiles> {
  const { assets, page, ...versions } = await runInThread<ConsoleFiles>(WORKER, {}, BOUNDS)
  const owned = [...assets].map(([name, asset]) => [name, received(asset)] as const)
  return { ...versions, page: received(page), assets: new Map(owned) }
}

/** An asset as another thread sends it: buffers come as plain arrays of bytes. */
function received({ contentType, plain, gzipped }: Asset): Asset {
  return { contentType, plain: bufferOf(plain), gzipped: bufferOf(gzipped) }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
