import { type MantineColorScheme, NativeSelect, useMantineColorScheme } from '@mantine/core'
import { listChoices, typed } from '../ui/fields.tsx'

const THEMES = listChoices({ auto: 'Theme of the system', light: 'Light', dark: 'Dark' })

export function ThemeSwitch() {
  // Without transitions it would add a style, which the policy of the page forbids.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  return (
    <NativeSelect
      size="xs"
      aria-label="Theme"
      data={THEMES}
      {...typed(colorScheme, (chosen) => setColorScheme(chosen as MantineColorScheme))}
    />
  )
}
