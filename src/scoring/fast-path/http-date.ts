let second = -1
let text = ''

/** The value of the header `Date` now. It is made once a second. */
export function httpDate(): string {
  const now = Date.now()
  const nowSecond = Math.floor(now / 1_000)
  if (nowSecond !== second) {
    second = nowSecond
    text = new Date(now).toUTCString()
  }
  return text
}
