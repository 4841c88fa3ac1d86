const NAME = 'scoreline_session'
const SESSION = new RegExp(`(?:^|;)\\s*${NAME}=([^;\\s]*)`)

/**
 * The cookie of the console's session. Without a path it is the console's own, under whatever path a
 * proxy serves it.
 *
 * @param refreshToken of letters that a cookie can hold as they are; empty ends it
 */
export function sessionCookie(
  refreshToken: string,
  { maxAgeSec, isSecure }: { readonly maxAgeSec: number; readonly isSecure: boolean },
): string {
  const secure = isSecure ? '; Secure' : ''
  return `${NAME}=${refreshToken}; Max-Age=${maxAgeSec}; HttpOnly; SameSite=Strict${secure}`
}

/** The refresh token that a request carries, or null. */
export function sessionOf({
  headers,
}: {
  readonly headers: { readonly cookie?: string | undefined }
}): string | null {
  return SESSION.exec(headers.cookie ?? '')?.[1] || null
}
