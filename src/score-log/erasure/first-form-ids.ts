/** Where the results of all applicants begin; no text of the models before it can contain this. */
const RESULTS = '"results":['
const ID_END = /[,\]]/

/** A record id in the JSON text. */
interface IdPlace {
  readonly start: number
  readonly end: number
}

/**
 * The text of the field `results`, see `RECORD_FIELDS`, with null for the record ids that are
 * erased. All other characters stay, so that no number changes.
 */
export function withoutIds(
  results: string,
  isErased: (id: string) => boolean,
): { readonly text: string; readonly places: number } {
  const kept: string[] = []
  let from = 0
  let places = 0
  for (const { start, end } of idsIn(results)) {
    const id = JSON.parse(results.slice(start, end)) as string | number | null
    if (id === null || !isErased(String(id))) continue
    kept.push(results.slice(from, start), 'null')
    from = end
    places++
  }
  return { text: places === 0 ? results : kept.join('') + results.slice(from), places }
}

/** Each row is an array in the array of the results, and its first item is the id. */
function* idsIn(results: string): Generator<IdPlace> {
  const found = results.indexOf(RESULTS)
  if (found < 0) return
  let depth = 1
  for (let at = found + RESULTS.length; at < results.length && depth > 0; at++) {
    const char = results[at]
    if (char === '"') at = endOfText(results, at) - 1
    else if (char === ']') depth--
    else if (char === '[') {
      depth++
      if (depth !== 2) continue
      const place = idAt(results, at + 1)
      yield place
      at = place.end - 1
    }
  }
}

function idAt(results: string, start: number): IdPlace {
  if (results[start] === '"') return { start, end: endOfText(results, start) }
  const length = results.slice(start, start + 64).search(ID_END)
  return { start, end: start + length }
}

/** @returns the index after the closing quotation mark */
function endOfText(results: string, start: number): number {
  let at = start + 1
  while (at < results.length && results[at] !== '"') at += results[at] === '\\' ? 2 : 1
  return at + 1
}
