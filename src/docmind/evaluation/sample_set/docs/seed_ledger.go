// Package seedledger keeps the stock of a seed exchange: what members bring and what they take away.
//
// Weights are whole grams. A packet that is too old is not given out any more.
package seedledger

import (
	"errors"
	"fmt"
	"sort"
	"time"
)

// MaxPackets is the number of packets that one member may take in a season.
const MaxPackets = 12

// shelfLife says how many years seeds of a family stay good.
var shelfLife = map[string]int{
	"allium":   1,
	"parsnip":  1,
	"bean":     3,
	"tomato":   5,
	"cucumber": 6,
}

// ErrQuota is returned when a member has taken all packets of the season.
var ErrQuota = errors.New("seedledger: the member has no packets left this season")

// ErrStale is returned for seeds that are older than their shelf life.
var ErrStale = errors.New("seedledger: the seeds are too old")

// Lot is an amount of seeds of one variety that a member brought on one day.
type Lot struct {
	Variety string
	Family  string
	Grams   int
	Harvest int // the year
	Donor   string
}

// Ledger holds lots and counts what each member took. It is not safe for concurrent use.
type Ledger struct {
	lots  []Lot
	taken map[string]int
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{taken: map[string]int{}}
}

// Deposit adds a lot. A lot below five grams is refused, since it does not fill a packet.
func (l *Ledger) Deposit(lot Lot) error {
	if lot.Grams < 5 {
		return fmt.Errorf("seedledger: %d grams of %s do not fill a packet", lot.Grams, lot.Variety)
	}
	l.lots = append(l.lots, lot)
	return nil
}

// Withdraw takes one packet of a variety for a member, from the oldest lot that is still good.
func (l *Ledger) Withdraw(member, variety string, now time.Time) (Lot, error) {
	if l.taken[member] >= MaxPackets {
		return Lot{}, ErrQuota
	}
	sort.SliceStable(l.lots, func(i, j int) bool { return l.lots[i].Harvest < l.lots[j].Harvest })
	for i := range l.lots {
		lot := &l.lots[i]
		if lot.Variety != variety || lot.Grams < 5 {
			continue
		}
		if IsStale(*lot, now) {
			continue
		}
		lot.Grams -= 5
		l.taken[member]++
		return *lot, nil
	}
	return Lot{}, ErrStale
}

// IsStale reports whether a lot is past its shelf life. Unknown families are good for two years.
func IsStale(lot Lot, now time.Time) bool {
	years, known := shelfLife[lot.Family]
	if !known {
		years = 2
	}
	return now.Year()-lot.Harvest > years
}

// ResetSeason forgets what members took. Call it on the first of February.
func (l *Ledger) ResetSeason() {
	l.taken = map[string]int{}
}

// Expiring returns the varieties that are good for this year only, in the order of the alphabet.
// The committee reads the list aloud at the exchange in February.
func (l *Ledger) Expiring(now time.Time) []string {
	var found []string
	for _, lot := range l.lots {
		next := now.AddDate(1, 0, 0)
		if !IsStale(lot, now) && IsStale(lot, next) {
			found = append(found, lot.Variety)
		}
	}
	sort.Strings(found)
	return found
}

// Thanks returns the names of donors, the most generous first.
func (l *Ledger) Thanks() []string {
	grams := map[string]int{}
	for _, lot := range l.lots {
		grams[lot.Donor] += lot.Grams
	}
	names := make([]string, 0, len(grams))
	for name := range grams {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { return grams[names[i]] > grams[names[j]] })
	return names
}
