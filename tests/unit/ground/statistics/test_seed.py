"""Seeds of parts: neighbouring wholes share none, and each is one that every file and the core can hold."""

from keisoku.ground.statistics.seed import mixed


def test_runs_with_neighbouring_seeds_share_no_trial() -> None:
    """With seed + index, those with seeds 1 and 2 shared all trials but one."""
    seeds = [mixed(whole, part) for whole in range(100) for part in range(1000)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_part_of_a_part_is_no_part_of_the_whole() -> None:
    parts = {mixed(1, part) for part in range(1000)}
    assert not parts & {mixed(mixed(1, number), part) for number in range(100) for part in range(1000)}


def test_it_is_splitmix64() -> None:
    """The first outputs of the published program, begun at 0, without their lowest bit; a seed of 0 begins at 0."""
    published = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)
    assert tuple(mixed(0, part) for part in range(3)) == tuple(each >> 1 for each in published)
    assert mixed(1, 0) == 0x5FF7_C018_6EE1_6BB9, "the core's part_seed has the same ones (core/src/chance.rs)"
    assert mixed(2**63 - 1, 10**9) == mixed(2**63 - 1, 10**9) != mixed(2**63 - 2, 10**9)
