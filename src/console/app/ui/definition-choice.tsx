import { NativeSelect } from '@mantine/core'
import { useDefinitions } from '../api/reports.ts'
import { useAddress } from './address.ts'

/** The definition of outcomes that the address names, else the standard, and a choice of it. */
export function useDefinitionChoice() {
  const { data: all = [] } = useDefinitions()
  const [search, , bind] = useAddress()
  const chosen = all.find(({ id }) => id === search['definition']) ?? all[0]
  const choice = chosen && (
    <NativeSelect
      label="Definition of bad"
      data={all.map(({ id, label }) => ({ value: id, label }))}
      {...bind('definition')}
      value={chosen.id}
    />
  )
  return [chosen, choice] as const
}
