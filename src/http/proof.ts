import type { FastifyRequest } from 'fastify'

/** Interval at which a caller is proven anew: a revoked key gets nothing more within a second. */
const PROOF_EVERY_MS = 500

/**
 * Proves the caller of a request anew while their answer or their body is under way. Calls within
 * half a second of the last proof cost nothing.
 *
 * @returns throws AppError once the caller was revoked, removed or demoted
 */
export function keepProving(request: FastifyRequest): () => Promise<void> {
  let provenAtMs = performance.now()
  return async () => {
    if (performance.now() - provenAtMs < PROOF_EVERY_MS) return
    await request.server.proveAnew?.(request)
    provenAtMs = performance.now()
  }
}

/** A body as it comes, which ends with an error once its sender was revoked. */
export async function* provenBody(
  request: FastifyRequest,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const prove = keepProving(request)
  for await (const part of body) {
    await prove()
    yield part
  }
  await prove()
}
