import { NativeSelect } from '@mantine/core'
import type { Schemas } from '../api/types.ts'
import { useAddress } from './address.ts'
import { languageName, listLanguages } from './reason-words.ts'

/** A choice of the language of the texts of a card, which the address keeps; nothing with one. */
export function LanguageChoice({ spec }: { spec: Schemas['ScorecardSpec'] }) {
  const [, , bind] = useAddress()
  const languages = listLanguages(spec)
  if (languages.length < 2) return null
  const data = languages.map((tag) => ({ value: tag, label: languageName(tag) }))
  return <NativeSelect label="Language of texts" data={data} {...bind('lang', 'en')} />
}
