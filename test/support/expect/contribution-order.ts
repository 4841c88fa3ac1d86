const OPENING = '"contributions":{'
const PAIR = /("(?:[^"\\]|\\.)*"):(-?[\d.eE+-]+)(,|})/y

/**
 * Reads the first `contributions` in the text of an answer, in the order in which they stand there:
 * a parsed object lists names that look like integers first, wherever they stood.
 */
export function contributionsInOrder(text: string): Array<[name: string, points: number]> {
  const pairs: Array<[string, number]> = []
  PAIR.lastIndex = text.indexOf(OPENING) + OPENING.length
  for (let end = ','; end === ','; ) {
    const [, name = '', points, separator = ''] = PAIR.exec(text) ?? []
    if (points === undefined) throw new Error(`no contributions can be read from ${text}`)
    pairs.push([JSON.parse(name), Number(points)])
    end = separator
  }
  return pairs
}
