import { ROOT } from './exchange.ts'
import { exchangeAsUser } from './session.ts'

/** A change of which only the address and the body are known. */
export interface Order {
  readonly method: 'PATCH' | 'POST' | 'PUT' | 'DELETE'
  /** Such as `/v1/deployments/dep_1`. */
  readonly path: string
  readonly body?: object | string | Blob
  /** Type of a body that is no JSON. */
  readonly type?: string
}

/**
 * Sends a change as the signed-in user.
 *
 * @throws ApiError
 */
export async function send({ method, path, body, type }: Order): Promise<unknown> {
  const isPlain = typeof body === 'string' || body instanceof Blob
  const response = await exchangeAsUser(
    new Request(`${ROOT}${path.slice(1)}`, {
      method,
      ...(body !== undefined && {
        body: isPlain ? body : JSON.stringify(body),
        headers: { 'content-type': type ?? 'application/json' },
      }),
    }),
  )
  return response.status === 204 ? null : response.json()
}

/** Sends a text or a file unchanged: parsing and serialising could alter a number. */
export async function post<Answer>(path: string, body: string | Blob, type?: string) {
  return (await send({ method: 'POST', path, body, ...(type && { type }) })) as Answer
}

/** Reads a file as the signed-in user; the browser keeps a large one on its disk. */
export async function readFile(path: string, accept?: string): Promise<Blob> {
  const headers = accept === undefined ? {} : { accept }
  return (await exchangeAsUser(new Request(`${ROOT}${path.slice(1)}`, { headers }))).blob()
}

export function saveText(name: string, text: string, type = 'application/json'): void {
  saveFile(name, new Blob([text], { type }))
}

export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // Some browsers read the file after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
