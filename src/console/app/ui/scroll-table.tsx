import type { ReactNode } from 'react'

/** A table with a name, which scrolls sideways where it is wider than its place. */
export function ScrollTable(props: { caption: string; className?: string; children: ReactNode }) {
  const { caption, className, children } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs the keyboard
    <section className="scroll" aria-label={caption} tabIndex={0}>
      <table className={className}>
        <caption className="unseen">{caption}</caption>
        {children}
      </table>
    </section>
  )
}
